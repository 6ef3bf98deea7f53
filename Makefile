# Every target sets up what it needs: a virtual environment in the checkout, pinned by requirements.lock. The demo alone
# makes do with requirements-demo.lock, which has no tools for tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := $(VENV)/.demo
# The lock names everything, so pip need not look for dependencies; Python compiles the modules that are imported.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --no-deps --no-compile
FILES := examples simkit tests tools
PYTEST := $(BIN)/python -m pytest --numprocesses 3 --dist loadfile

# Every test worker and every tool imports the same modules: where the caller asks Python to keep no compiled modules,
# each process would compile all of them again, which costs more than most tests.
unexport PYTHONDONTWRITEBYTECODE

# Tools run in the environment of the checkout, whatever other one the caller is in: IPython would warn of two.
unexport VIRTUAL_ENV

.PHONY: demo help test test-slow test-all check compiled bench fuzz graph-library playground soak serve docs docs-serve format lock setup clean

demo: $(DEMO)  ## an audit of the bundled cluster, as a page: build/rbac-audit.html (the default)
	$(BIN)/simkit audit --demo --show critical --html build/rbac-audit.html

test: $(READY)  ## all checks, and the tests that are not marked slow
	$(MAKE) --jobs 2 check compiled
	$(PYTEST) -m "not slow"

test-slow: $(READY)  ## the slow tests: browsers, notebooks, real clients, attacks
	$(PYTEST) -m slow --no-loadscope-reorder  # the browsers begin early, since their files take longest

test-all: test test-slow  ## all checks and all tests, as continuous integration runs them

check: $(READY)  ## format, lint, types, import contracts
	$(BIN)/ruff format --check $(FILES)
	$(BIN)/ruff check $(FILES)
	$(BIN)/mypy
	$(BIN)/lint-imports

# One process finds the tests first, so that the workers read compiled modules instead of each compiling them at once.
compiled: $(READY)
	$(BIN)/python -m pytest --collect-only -qq > $(VENV)/collected.txt || { cat $(VENV)/collected.txt; exit 1; }

bench: $(READY)  ## the speed of this machine, as ratios (ARGS=engine; PEER=https://127.0.0.1:6443 TOKEN=...: beside another server)
	$(BIN)/python -m tests.bench $(if $(PEER),peer --peer $(PEER) $(if $(TOKEN),--peer-token $(TOKEN))) $(ARGS)

fuzz: $(READY)  ## coverage-guided fuzzing of each reader for some seconds (needs atheris)
	for target in json yaml document labels fields quantity duration expression \
			create apply patch select rule protobuf certificate bundle token kubeconfig dump; do \
		$(BIN)/python -m tests.fuzz $$target -max_total_time=7 || exit 1; done

graph-library:  ## the bundled library that draws the escalation graph (needs npm)
	cd tools/graph && npm ci --ignore-scripts && npx esbuild entry.js --bundle --minify --format=iife \
		--global-name=GraphLibrary --target=es2020 --legal-comments=none \
		--banner:js="/* sigma 3.0.3, graphology 0.26.0 and what they use, under the MIT licence: see LICENSES.txt */" \
		--outfile=../../simkit/present/graph/library.js

playground: $(READY)  ## simkit and its course for browsers, as static files: build/playground, build/lessons (needs npm)
	$(BIN)/python -m tools.playground
	$(BIN)/python -m tools.playground.lessons $(if $(CLASS),--class $(CLASS))

soak: $(READY)  ## memory of a server under churn, over an hour (ARGS="--minutes 20")
	$(BIN)/python -m tests.bench.soak $(ARGS)

serve: $(READY)  ## an API server on https://127.0.0.1:6443 (ARGS="--release 1.33")
	$(BIN)/simkit serve $(ARGS)

docs: $(READY)  ## the documentation site in build/site, with executed notebooks; warnings are errors
	$(BIN)/python -m tools.site

docs-serve: docs  ## the documentation site on http://127.0.0.1:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site 8000

format: $(READY)  ## format the code, and mend what the linter can
	$(BIN)/ruff format $(FILES)
	$(BIN)/ruff check --fix $(FILES)

setup: $(READY)  ## the virtual environment for development

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --editable .
	@touch $(READY) $(DEMO)

$(DEMO): requirements-demo.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement requirements-demo.lock
	$(PIP) --editable .
	@touch $(DEMO)

# The groups of pyproject.toml are written out first, since pip-compile reads extras alone.
COMPILE := build/lock/bin/pip-compile --quiet --strip-extras --allow-unsafe --generate-hashes --no-emit-index-url \
	--no-emit-trusted-host --no-emit-find-links --no-header

lock:  ## write the lock files anew from pyproject.toml
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check "pip<26" pip-tools
	$(PYTHON) -c "import tomllib; groups = tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']; \
		print(*groups['dev'], *groups['docs'], sep='\n')" > build/lock/groups.in
	$(COMPILE) $(foreach extra,descriptions etcd fleet history live mcp notebook plots prove serve testing,--extra $(extra)) \
		--output-file requirements.lock pyproject.toml build/lock/groups.in
	$(COMPILE) --constraint requirements.lock --output-file requirements-demo.lock pyproject.toml

help:  ## this list
	@awk -F':.*  ## ' '/^[a-z-]+:.*  ## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

clean:  ## remove what builds and tools leave
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
