# Every target sets up what it needs: a virtual environment in the checkout, pinned by requirements.lock.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
FILES := simkit tests tools

.PHONY: demo test check bench serve format lock setup clean

demo: $(READY)
	$(BIN)/simkit audit --demo --html build/rbac-audit.html

test: check
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

check: $(READY)
	$(BIN)/ruff format --check $(FILES)
	$(BIN)/ruff check $(FILES)
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m tests.bench $(ARGS)

serve: $(READY)
	$(BIN)/simkit serve $(ARGS)

format: $(READY)
	$(BIN)/ruff format $(FILES)
	$(BIN)/ruff check --fix $(FILES)

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $(READY)

# Writes requirements.lock anew from pyproject.toml.
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check "pip<26" pip-tools
	build/lock/bin/pip-compile --quiet --strip-extras --allow-unsafe --no-emit-index-url --no-emit-trusted-host \
		--no-emit-find-links --no-header --all-extras --output-file requirements.lock pyproject.toml

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
