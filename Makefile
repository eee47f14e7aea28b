# The virtual environment is made on first use, from requirements pinned by hash, with any Python from 3.11 on:
# `make demo PYTHON=python3.12`.
PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11,$(shell $(name) -c \
	'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
VENV ?= .venv
BIN := $(abspath $(VENV))/bin
# Tests start servers by the hundred: only the first compiles what it imports. They wait for a third of their time, so
# that one more worker than cores keeps these busy.
WORKERS = $(shell $(BIN)/python -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# buf runs the generators that pip put beside it.
WITH_BUF := PATH="$(BIN):$$PATH"
# Type stubs that the generator writes for contract files without services.
EMPTY_STUBS := kgsvc/v1/documents_pb2_grpc.pyi kgsvc/v1/envelope_pb2_grpc.pyi kgsvc/v1/transfer_pb2_grpc.pyi \
	kgsvc/v1/types_pb2_grpc.pyi
OPENAPI := kgsvc/api/http/openapi.json
STUBS := kgsvc/v1 clients/python/kgsvc_client
CLIENT_STUBS := clients/go/kgsvc/v1 clients/typescript/src/gen
# What the contract must stay compatible with.
AGAINST ?= .git\#branch=main
SOURCES := kgsvc tests bench scripts clients/python/kgsvc_client clients/python/scenarios.py clients/python/bench
# Of the Go client; it is no tool of the module, whose users would get what it needs.
STATICCHECK := v0.8.2
# Of the chart's linter; needs Go.
HELM := v3.19.0
ARGS ?=
PAGE ?=
NEO4J ?=
RESULTS := bench/results

.DEFAULT_GOAL := help
.PHONY: page pictures help venv demo serve site deploy-check wheel test test-neo4j test-all soak mutants bench plots lint format \
	proto openapi proto-check proto-breaking clients-proto clients-proto-check go-module client-python clients clients-docs \
	requirements

help: ## Say what there is
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | \
		while IFS="$$(printf '\t')" read -r name text; do printf '  %-20s %s\n' "$$name" "$$text"; done

$(VENV)/.runtime: requirements.txt requirements-build.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "kgsvc needs Python 3.11 or newer; name one with PYTHON=..." >&2; exit 1; }
	@echo "installing into $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --no-deps --require-hashes -r requirements.txt -r requirements-build.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# What comes without a wheel is built with the pinned setuptools. Most of it is imported by a test or two, so nothing is
# compiled ahead.
$(VENV)/.dev: $(VENV)/.runtime requirements-local.txt requirements-documents.txt requirements-mcp.txt \
		requirements-dev.txt
	@echo "installing what tests and checks need into $(VENV) ..."
	@$(PIP) install --no-deps --no-compile --no-build-isolation --require-hashes -r requirements-dev.txt
	@touch $@

venv: $(VENV)/.dev ## Make the virtual environment for development

demo: $(VENV)/.runtime ## Start a service, tell it a conversation, ask it, stop; PAGE=1 serves the page of it until Ctrl-C
	$(BIN)/kgsvc demo$(if $(PAGE), --page)

serve: $(VENV)/.runtime ## Serve from data/ on 127.0.0.1:50051; more with ARGS="--listen ..."
	$(BIN)/kgsvc serve $(ARGS)

# Which tests are quick: tests/support/quick.py; which stay together on a worker: tests/support/shares.py.
test: $(VENV)/.dev ## Run the quick tests, which need no Neo4j: five minutes on two cores; ARGS for pytest
	$(PYTEST) -m quick $(ARGS)

test-neo4j: $(VENV)/.dev ## Run the tests of the Neo4j store (needs mvn and JDKs)
	$(PYTEST) -m neo4j $(ARGS)

test-all: $(VENV)/.dev ## Run every test that can run here, the quick ones too; ARGS="-m 'not quick'" leaves them out
	$(PYTEST) $(ARGS)

soak: $(VENV)/.dev ## Run with many more rounds what test-all tries in few: fifty kills in a row, and the like
	$(PYTEST) -m soak $(ARGS)

mutants: $(VENV)/.dev ## Plant one-line faults in a copy and see that the tests notice; takes long; ARGS, see --help
	nice -n 10 $(BIN)/python -m scripts.mutants $(ARGS)

$(VENV)/.bench: $(VENV)/.dev
	@echo "installing what benchmarks need into $(VENV) ..."
	@$(PIP) install --no-build-isolation --editable '.[bench]'
	@touch $@

bench: $(VENV)/.bench ## Measure beside Graphiti and by size: NEO4J="URI;PASSWORD" is emptied; then draw the plots
	@test -n '$(NEO4J)' || { echo 'name an idle Neo4j whose content may go: NEO4J="URI;PASSWORD"' >&2; exit 1; }
	$(BIN)/python -m bench.beside_graphiti --neo4j '$(NEO4J)' --wipe --out $(RESULTS)/beside_graphiti.json
	$(BIN)/python -m bench.scale --neo4j '$(NEO4J)' --wipe --out $(RESULTS)/scale.json
	@$(MAKE) --no-print-directory plots

site: $(VENV)/.dev ## Build the documentation as a site, in build/site/html
	@$(WITH_BUF) $(BIN)/python -m scripts.site build/site

plots: $(VENV)/.bench ## Draw the plots of docs/ from the results in bench/results
	$(BIN)/python -m bench.plots $(wildcard $(RESULTS)/*.json)

lint: $(VENV)/.dev ## Check style, types, the borders between rooms, and the contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(SOURCES)
	$(BIN)/lint-imports --no-cache
	$(WITH_BUF) buf lint
	$(WITH_BUF) buf format -d --exit-code

format: $(VENV)/.dev ## Format code and contract
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(WITH_BUF) buf format -w

proto: $(VENV)/.dev ## Regenerate the committed Python stubs from proto/
	$(WITH_BUF) buf format -w
	$(WITH_BUF) buf lint
	@rm -f kgsvc/v1/*_pb2*
	$(WITH_BUF) buf generate
	@rm -f $(EMPTY_STUBS)
	$(BIN)/python -m scripts.client_stubs
	@$(MAKE) --no-print-directory openapi

openapi: $(VENV)/.dev ## Describe the contract over HTTP as OpenAPI, from proto/
	$(WITH_BUF) python -m scripts.openapi

proto-check: $(VENV)/.dev ## Fail when the contract is not clean or the committed Python stubs differ from it
	$(WITH_BUF) buf format -d --exit-code
	@$(MAKE) --no-print-directory proto
	git diff --exit-code HEAD -- proto $(STUBS) $(OPENAPI)
	test -z "$$(git ls-files --others --exclude-standard -- proto $(STUBS))"

proto-breaking: $(VENV)/.dev ## Fail when the contract breaks callers of the one in AGAINST
	$(WITH_BUF) buf breaking --against '$(AGAINST)'

page/node_modules: page/package-lock.json
	npm --prefix page ci --no-audit --no-fund --silent

page: page/node_modules ## Check and bundle the page that the service serves (needs npm)
	npm --prefix page run --silent build

pictures: $(VENV)/.dev ## Photograph the page anew for docs/ (needs Chromium)
	$(BIN)/python -m tests.page.pictures

clients/typescript/node_modules: clients/typescript/package-lock.json
	npm --prefix clients/typescript ci --no-audit --no-fund --silent

# Stubs of contract files that are gone must go too.
clients-proto: $(VENV)/.dev clients/typescript/node_modules ## Regenerate the Go and TypeScript stubs (needs go and npm)
	rm -rf $(CLIENT_STUBS)
	$(WITH_BUF) buf generate --template clients/buf.gen.yaml
	$(WITH_BUF) buf generate --template clients/typescript/buf.gen.yaml

clients-proto-check: clients-proto ## Fail when the committed client stubs differ from the contract
	git diff --exit-code HEAD -- $(CLIENT_STUBS)
	test -z "$$(git ls-files --others --exclude-standard -- $(CLIENT_STUBS))"

# Go imports name the module they are in: its path stands in each.
go-module: ## Give the Go module another path: MODULE=github.com/...
	@test -n '$(MODULE)' || { echo 'name the path with MODULE=...' >&2; exit 1; }
	old=$$(sed -n 's/^module //p' clients/go/go.mod) && \
		git grep -lF "$$old" -- clients Makefile | grep -v '^clients/go/kgsvc/v1/' | xargs sed -i "s#$$old#$(MODULE)#g"
	@$(MAKE) --no-print-directory clients-proto

$(BIN)/helm:
	GOBIN=$(BIN) go install -ldflags="-s -w" helm.sh/helm/v3/cmd/helm@$(HELM)

$(VENV)/.deploy: $(VENV)/.dev requirements-deploy.txt
	@echo "installing what checks the files of deploy/ into $(VENV) ..."
	@$(PIP) install --no-build-isolation --require-hashes -r requirements-deploy.txt
	@touch $@

deploy-check: $(VENV)/.deploy $(BIN)/helm ## Check the chart, the Dockerfile and compose.yaml (needs go)
	PATH="$(BIN):$$PATH" $(BIN)/python -m scripts.check_deploy

wheel: $(VENV)/.dev ## Build the wheel, the same bytes from the same commit
	$(BIN)/python -m scripts.build_wheel dist

client-python: $(VENV)/.dev ## Build the wheel of the client for Python
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir clients/python/dist clients/python

clients: clients/typescript/node_modules ## Check and build the clients (needs go, npm and mvn)
	cd clients/go && test -z "$$(gofmt -l .)" && go vet ./... && go run honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK) ./...
	npm --prefix clients/typescript run --silent build
	npm --prefix clients/typescript run --silent docs
	mvn -q -B -f clients/java/pom.xml package

clients-docs: clients/typescript/node_modules ## Write the API references of the TypeScript and Java clients (needs npm and mvn)
	npm --prefix clients/typescript run --silent docs
	mvn -q -B -f clients/java/pom.xml package
	@echo 'clients/typescript/build/docs/index.html'
	@echo 'clients/java/target/reports/apidocs/index.html'

requirements: $(VENV)/.dev ## Pin the newest allowed versions again; with the oldest Python that is supported
	$(BIN)/python scripts/pin_requirements.py --upgrade
