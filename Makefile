# The tasks of every day. Every recipe is a plain command. `python -m tools` lists the programs for other tasks.
PYTHON ?= python3
BIN := .venv/bin
# Made from uv.lock alone; nothing else is installed by hand.
READY := .venv/.ready
# Setting up again removes what uv.lock no longer names, but not what `make envs` and `make engine` installed.
PACKAGES := .venv/lib/python3*/site-packages
KEPT = $(if $(wildcard $(PACKAGES)/ray),--group envs) $(if $(wildcard $(PACKAGES)/happycity_engine),--extra engine)
STUBS := game
# Else every process of a test or a run would compile its sources again, where the environment forbids to keep bytecode.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/pytest -n auto --dist worksteal
# What is compiled: the rules with their wire and records, the referee, and the bots.
COMPILED_TESTS := tests/game tests/evaluation tests/bots tests/envs/selfplay tests/server/play tests/sdk/test_decision.py tests/sdk/test_player.py
CLIENT_TESTS := $(BIN)/pytest -n auto --dist loadgroup tests/clients

.PHONY: help setup envs compiled pure engine wasm run test test-programs test-all test-nightly test-under-load compiled-copy coverage clients sdks fuzz lint audit format proto site clean

help: ## Show all targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/'

setup: $(READY) ## Make .venv with all that the project needs

$(READY): pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("error: Python 3.11 or newer is needed; PYTHON=... names one")'
	@echo "installing what uv.lock names into .venv: some 80 packages, about a minute"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv sync --frozen $(KEPT) --compile-bytecode --quiet
	touch $@

envs: $(READY) ## Install OpenSpiel, llama.cpp and Ray (300 MB), without which their tests are skipped
	$(BIN)/uv sync --frozen --group envs --inexact --compile-bytecode --quiet

compiled: $(READY) ## Compile the hot modules into this checkout by mypyc, which takes a C compiler and a minute
	$(BIN)/python hatch_build.py compile

pure: $(READY) ## Remove what `make compiled` made
	$(BIN)/python hatch_build.py remove

engine: $(READY) ## Build the native engine for searches into .venv, and test it, which takes cargo
	$(BIN)/uv pip install --quiet --reinstall-package happycity-engine ./engine/python
	$(BIN)/pytest tests/engine

wasm: ## Compile the native engine to WebAssembly again, for which it takes Debian 12's rustc
	$(PYTHON) -m tools engine-wasm

run: $(READY) ## Play a tournament of 500 rounds between the reference bots
	$(BIN)/tournament run --rounds 500

test: $(READY) ## Run the tests of levels 0 and 1, which start no programs (CONTRIBUTING.md, Tests)
	$(PYTEST)

test-programs: $(READY)
	$(PYTEST) --levels 0-2

test-all: envs ## Run all tests but the nightly ones: of whole programs, browser, SDKs, and compiled code too
	$(MAKE) --no-print-directory --output-sync -j 2 test-programs compiled-copy sdks
	$(PYTEST) --levels 3 --ignore=tests/clients
	PYTHONPATH=$(CURDIR)/build/compiled $(PYTEST) --levels 0-1 $(COMPILED_TESTS)
	$(CLIENT_TESTS)

test-nightly: envs sdks ## Run what costs too much for each change: kills, learners, more examples, all mutants
	$(PYTEST) --levels 4
	$(PYTEST) --levels 0-3 --hypothesis-profile=nightly -m hypothesis
	$(BIN)/python -m tools mutants

test-under-load: envs ## Run levels 0 to 2 three times beside four busy processes, and once on one core
	busy=""; for each in 1 2 3 4; do $(BIN)/python -c 'while True: pass' & busy="$$busy $$!"; done; trap "kill $$busy" EXIT; \
	for each in 1 2 3; do $(PYTEST) --levels 0-2 || exit 1; done
	taskset --cpu-list 0 $(BIN)/pytest -n 2 --dist worksteal --levels 0-2

compiled-copy: $(READY)
	$(BIN)/python hatch_build.py compile --tree build/compiled

clients: sdks ## Build and test the SDKs of other languages, as far as their tools are installed
	$(CLIENT_TESTS)

sdks: $(READY)
	$(BIN)/python clients/conformance/make_catalogue.py --check
	$(BIN)/python clients/conformance/make_greedy.py --check
	$(BIN)/python clients/conformance/make_messages.py --check
	$(BIN)/python clients/conformance/make_readmes.py --check
	MAKEFLAGS= clients/test-all

coverage: $(READY) ## Measure which lines and branches the tests reach; the pages are in build/coverage/html
	mkdir -p build/coverage
	$(PYTEST) --cov --cov-report=term --cov-report=html:build/coverage/html

fuzz: $(READY) ## Search for new examples that break a property test
	$(PYTEST) --levels 0-3 --hypothesis-profile=new-examples -m hypothesis

lint: $(READY) ## Check style, types, layers, spelling, the contract, and that the stubs are current
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	git ls-files -z | xargs -0 $(BIN)/codespell -D - -D words.txt
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec compose*.yaml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/buf lint
	$(BIN)/buf breaking --against proto/baseline.binpb
	$(BIN)/buf format --diff --exit-code
	rm -rf build/stubs
	$(MAKE) --no-print-directory proto STUBS=build/stubs
	for package in v1 access gateway hosting tournament ladder worker; do \
		diff -r -x __init__.py -x __pycache__ build/stubs/happycity/$$package game/happycity/$$package || exit 1; done

audit: $(READY) ## Look for known vulnerabilities of all locked packages, in the databases of each language
	mkdir -p build
	$(BIN)/uv export --frozen --all-extras --all-groups --no-emit-project --no-emit-package happycity-engine --quiet --output-file build/requirements.txt
	$(BIN)/uv tool run pip-audit@2.10.0 --strict --disable-pip --requirement build/requirements.txt
	npm audit --package-lock-only --prefix clients/typescript
	npm audit --package-lock-only --prefix tests/readers
	cd clients/go && go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...
	cargo install --locked --quiet --root build/cargo cargo-audit@0.22.2
	build/cargo/bin/cargo-audit audit --file clients/rust/Cargo.lock

format: $(READY) ## Format code and contract, and fix what can be fixed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/buf format --write

proto: $(READY) ## Generate the stubs from proto/
	mkdir -p $(STUBS)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m grpc_tools.protoc --proto_path=proto \
		--python_out=$(STUBS) --grpc_python_out=$(STUBS) --mypy_out=quiet:$(STUBS) --mypy_grpc_out=quiet:$(STUBS) \
		$(wildcard proto/happycity/*/*.proto proto/happycity/*/*/*.proto)

site: $(READY) ## Build the site of the documentation into build/site; a dead link is an error
	$(BIN)/python -m tools site

clean: ## Remove what was made
	test ! -x $(BIN)/python || $(BIN)/python hatch_build.py remove
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
