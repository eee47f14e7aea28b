PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
# Where pip put buf and the generators of this PYTHON.
SCRIPTS := $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("scripts"))')
BUF := PATH="$(SCRIPTS):$$PATH" buf
# Type stubs that the generator writes for contract files without services.
EMPTY_STUBS := kgsvc/v1/envelope_pb2_grpc.pyi kgsvc/v1/types_pb2_grpc.pyi

.PHONY: proto proto-check

proto: ## Regenerate the committed Python stubs from proto/
	$(BUF) format -w
	$(BUF) lint
	$(BUF) generate
	@rm -f $(EMPTY_STUBS)

proto-check: ## Fail when the contract is not clean or the committed stubs differ from it
	$(BUF) format -d --exit-code
	$(BUF) lint
	$(BUF) generate
	@rm -f $(EMPTY_STUBS)
	git diff --exit-code HEAD -- proto kgsvc/v1
	test -z "$$(git ls-files --others --exclude-standard -- proto kgsvc/v1)"
