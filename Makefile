PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
# Where pip put buf and the generators of this PYTHON.
SCRIPTS = $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("scripts"))')
WITH_BUF = PATH="$(SCRIPTS):$$PATH"
# Type stubs that the generator writes for contract files without services.
EMPTY_STUBS := kgsvc/v1/envelope_pb2_grpc.pyi kgsvc/v1/types_pb2_grpc.pyi
CLIENT_STUBS := clients/go/kgsvc clients/typescript/src/gen clients/java/src/main/java/kgsvc/v1
# What the contract must stay compatible with.
AGAINST ?= .git\#branch=main

.PHONY: proto proto-check proto-breaking clients-proto clients-proto-check

proto: ## Regenerate the committed Python stubs from proto/
	$(WITH_BUF) buf format -w
	$(WITH_BUF) buf lint
	@rm -f kgsvc/v1/*_pb2*
	$(WITH_BUF) buf generate
	@rm -f $(EMPTY_STUBS)

proto-check: ## Fail when the contract is not clean or the committed Python stubs differ from it
	$(WITH_BUF) buf format -d --exit-code
	@$(MAKE) --no-print-directory proto
	git diff --exit-code HEAD -- proto kgsvc/v1
	test -z "$$(git ls-files --others --exclude-standard -- proto kgsvc/v1)"

proto-breaking: ## Fail when the contract breaks callers of the one in AGAINST
	$(WITH_BUF) buf breaking --against '$(AGAINST)'

clients-proto: ## Regenerate the Go, TypeScript and Java stubs (needs go, npm and mvn)
	$(WITH_BUF) scripts/generate_clients.sh

clients-proto-check: clients-proto ## Fail when the committed client stubs differ from the contract
	git diff --exit-code HEAD -- $(CLIENT_STUBS)
	test -z "$$(git ls-files --others --exclude-standard -- $(CLIENT_STUBS))"
