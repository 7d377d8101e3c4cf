# The one task file. Every recipe is a plain command, and CI runs the same ones.
PYTHON ?= python3
BIN := .venv/bin
# Made from uv.lock alone; nothing else is installed by hand.
READY := .venv/.ready
STUBS := game
# Else every process of a test or a run would compile its sources again, where the environment forbids to keep bytecode.
unexport PYTHONDONTWRITEBYTECODE
COMPILED_TESTS := tests/bots tests/check tests/game tests/sdk tests/server/play tests/server/api tests/server/model
# Without those of PostgreSQL: no module of the store is compiled.
KILL_TESTS := -k "kill and not postgresql" tests/commands/test_kills.py tests/commands/test_workers.py

.PHONY: help setup envs compiled pure browser postgres grpc-cpp image run test test-all test-compiled coverage clients fuzz mutants lint format texts proto baseline train strengths bench bench-clients bench-learners bench-ratings bench-ladder soak soak-ladder site wheel packages version clean

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/'

setup: $(READY) ## Make .venv with all that the project needs

$(READY): pyproject.toml uv.lock
	@echo "installing what uv.lock names into .venv: some 80 packages, about a minute"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv sync --frozen --extra web --compile-bytecode --quiet
	touch $@

browser: ## Install Chromium, in which the tests look at pages and reports (on Debian, as root)
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; \
	else echo "no Chromium found: without the package chromium, the tests of pages and reports in a browser are skipped"; fi

postgres: ## Install PostgreSQL, in which the tests keep stores too (on Debian, as root)
	@if command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2> /dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; \
	else echo "no PostgreSQL found: without the package postgresql, the tests of stores in it are skipped"; fi

grpc-cpp: ## Install gRPC for C++, on which the C++ SDK is built (on Debian, as root)
	@if command -v grpc_cpp_plugin; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			cmake g++ libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc libgtest-dev; \
	else echo "no gRPC for C++ found: without the package libgrpc++-dev, the C++ SDK is not tested"; fi

image: ## Build the container image without a registry, on a base of Debian's packages (on Debian, as root)
	@if command -v buildah > /dev/null && command -v mmdebstrap > /dev/null && command -v prometheus > /dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			buildah mmdebstrap prometheus; fi
	release/build-image

envs: $(READY) ## Install OpenSpiel, llama.cpp and Ray (300 MB), without which their tests are skipped
	$(BIN)/uv sync --frozen --extra web --group envs --inexact --compile-bytecode --quiet

compiled: $(READY) ## Compile the hot modules into this checkout by mypyc, which takes a C compiler and a minute
	$(BIN)/python hatch_build.py compile

pure: $(READY) ## Remove what `make compiled` made
	$(BIN)/python hatch_build.py remove

run: $(READY) ## Play a tournament of 500 rounds between the reference bots
	$(BIN)/tournament run --rounds 500

test: $(READY) ## Run the tests that are quick (see test-all)
	$(BIN)/pytest -n auto --dist worksteal

test-all: envs ## Run all tests, those that take minutes and those of all SDKs too, with many more examples
	$(BIN)/pytest -n auto --dist worksteal --thorough --ignore=tests/clients
	$(MAKE) --no-print-directory test-compiled
	$(MAKE) --no-print-directory clients

test-compiled: $(READY) ## Run the tests of rules, bots, wire, server and kills on compiled code too, which stays in build/
	$(BIN)/python hatch_build.py compile --tree build/compiled
	PYTHONPATH=$(CURDIR)/build/compiled $(BIN)/pytest -n auto --dist worksteal $(COMPILED_TESTS)
	PYTHONPATH=$(CURDIR)/build/compiled $(BIN)/pytest -n auto --dist worksteal --thorough $(KILL_TESTS)

clients: $(READY) ## Build and test the SDKs of other languages, as far as their tools are installed
	$(BIN)/python clients/conformance/make_catalogue.py --check
	$(BIN)/python clients/conformance/make_greedy.py --check
	$(BIN)/python clients/conformance/make_messages.py --check
	clients/test-all
	$(BIN)/pytest --thorough tests/clients

coverage: $(READY) ## Measure which lines and branches the tests reach; the pages are in build/coverage/html
	mkdir -p build/coverage
	$(BIN)/pytest -n auto --dist worksteal --cov --cov-report=term --cov-report=html:build/coverage/html

fuzz: $(READY) ## Look for new examples that break a property test: games, records, messages, schedules
	$(BIN)/pytest -n auto --dist worksteal --thorough --hypothesis-profile=new-examples -m hypothesis

mutants: $(READY) ## Change the code in some 150 small ways and see whether the tests notice each (30 minutes)
	$(BIN)/python -m tools.mutants

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
	for package in v1 tournament ladder model worker; do \
		diff -r -x __init__.py -x __pycache__ build/stubs/happycity/$$package game/happycity/$$package || exit 1; done

format: $(READY) ## Format code and contract, and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/buf format --write

texts: $(READY) ## Add what pages say to the catalogues of translations, and remove what they don't say any more
	$(BIN)/python docs/make_texts.py

proto: $(READY) ## Generate the stubs from proto/
	mkdir -p $(STUBS)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m grpc_tools.protoc --proto_path=proto \
		--python_out=$(STUBS) --grpc_python_out=$(STUBS) --mypy_out=quiet:$(STUBS) --mypy_grpc_out=quiet:$(STUBS) \
		$(wildcard proto/happycity/*/*.proto proto/happycity/*/*/*.proto)

baseline: $(READY) ## Record the contract with which `make lint` compares later ones; to be made for a release
	$(BIN)/buf breaking --against proto/baseline.binpb
	$(BIN)/buf build --exclude-source-info --output proto/baseline.binpb

train: $(READY) ## Train the champion's network in build/training for as long as it runs; it goes on where it stopped
	$(BIN)/python hatch_build.py compile --tree build/compiled
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/build/compiled:$(CURDIR) $(BIN)/python -m training build/training

strengths: $(READY) ## Measure the tables of docs/bots.md: strengths and costs of the reference bots, in some 10 minutes
	$(BIN)/python hatch_build.py compile --tree build/compiled
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/build/compiled:$(CURDIR) $(BIN)/python -m training.strengths
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=$(CURDIR)/build/compiled:$(CURDIR) $(BIN)/python -m training.strengths \
		--bots champion --players 2 3 5

bench: $(READY) ## Measure engine, bots and wire, in one run
	$(BIN)/python -m benchmarks.speed

bench-clients: $(READY) ## Measure what a decision costs in each language that `make clients` has built
	if command -v cargo > /dev/null; then cargo build --quiet --release --locked --examples --manifest-path clients/rust/Cargo.toml; fi
	$(BIN)/python -m benchmarks.clients

bench-ratings: $(READY) ## Measure how exact, honest and fast the final ratings are (three minutes)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.ratings
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.coverage

bench-ladder: $(READY) ## Simulate worlds of a ladder: how honest its ratings are (half an hour)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.ladder_year

bench-learners: envs ## Measure steps a second of self-play and the environments, beside OpenSpiel's card games
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.learners

soak: $(READY) ## Play with 1,000 bots, 200 games at once; fails if a game is lost or memory grows
	$(BIN)/python -m benchmarks.load soak

soak-ladder: $(READY) ## Play a ladder with 100 bots that come and go for 10 minutes, killing its server; fails if a game is lost
	$(BIN)/python -m benchmarks.ladder_load

site: $(READY) ## Build the site of the documentation into build/site; a dead link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "made build/site; .venv/bin/python -m mkdocs serve shows it while you write"

wheel: $(READY) ## Build the wheel into dist/
	$(BIN)/uv build --wheel --quiet

packages: $(READY) ## Pack what a release publishes into dist/: wheel, SDKs, licences, a list of components
	$(BIN)/python -m release.packages

version: $(READY) ## Print the version; `make version NEW=0.2.0` sets it in all files that have it
	$(BIN)/python -m release.version $(NEW)

clean: ## Remove what was made
	test ! -x $(BIN)/python || $(BIN)/python hatch_build.py remove
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
