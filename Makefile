# Broodline. Needs GNU make and Python 3.11 or newer with pip; everything else goes into .venv.
#   make help    what there is
# Another interpreter: make test PYTHON=/path/to/python3.13

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo $$p; break; }; done)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
CODE := $(wildcard setup.py src/broodline actors messages providers supervision tests benchmarks examples)

# An environment knows its own path: one that was moved or copied is built again.
ifneq ($(shell cat $(VENV)/made-in 2>/dev/null),$(CURDIR))
$(shell rm -f $(VENV)/made-in)
endif

# What `make test` runs, each whatever came of the others.
GATES := lint format mypy pyright layers tests

.PHONY: help demo test hello $(GATES) interop crash bench clean

help: ## say what there is (this)
	@grep -hE '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):[^#]*## /\1\t/' | expand -t 8

demo: $(VENV)/installed ## set up .venv and run the main job: agents survey the package itself
	@echo "demo: broodline demo"
	@$(BIN)/broodline demo

test: hello $(VENV)/equipped ## set up .venv; linter, format, two type checkers, layers, every test
	@trap 'exit 130' INT; failed=; rm -f .cache/passed; \
	for gate in $(GATES); do \
		$(MAKE) --no-print-directory $$gate || failed="$$failed $$gate"; done; \
	passed=$$(cat .cache/passed 2>/dev/null || true); passed=$${passed:-0}; \
	if [ -n "$$failed" ]; then \
		echo "make test: FAILED:$$failed; $$passed tests passed; one gate alone: make NAME" >&2; exit 1; fi; \
	echo "make test: $$passed passed; lint, format, mypy, pyright and layers are clean"

hello:
	@echo "make test: set-up if needed, then $(words $(GATES)) gates ($(GATES)); about 5 minutes on two free cores"

lint: $(VENV)/equipped
	@echo "lint: ruff check"
	@$(BIN)/ruff check --quiet $(CODE)

format: $(VENV)/equipped
	@echo "format: ruff format --check"
	@$(BIN)/ruff format --quiet --check $(CODE) || \
		{ echo "format: not as above; mend with: $(BIN)/ruff format $(CODE)"; exit 1; }

mypy: $(VENV)/equipped
	@echo "mypy: --strict"
	@$(BIN)/mypy

pyright: $(VENV)/equipped
	@echo "pyright: strict"
	@$(BIN)/pyright --pythonpath $(BIN)/python

layers: $(VENV)/equipped
	@echo "layers: import-linter"
	@$(BIN)/lint-imports --no-cache --no-logo

# `coverage run` with the script, not -m: that would put the checkout on sys.path.
# 8 GiB are the most it may take: a test that runs away ends with a MemoryError, not with the machine.
tests: $(VENV)/equipped
	@echo "tests: pytest, in random order, with branch coverage by path"
	@echo "tests: nothing to see while they are collected (10 s or more); then a dot each, a failure at once"
	@mkdir -p .cache && rm -f .cache/passed
	@ulimit -v 8388608 2>/dev/null || true; status=0; \
		$(BIN)/coverage run $(BIN)/pytest --quiet 2>&1 | tee .cache/pytest.log || status=$$?; \
		sed -nE 's/^=*[ ]*([0-9]+ failed, )?([0-9]+) passed.* in [0-9.]+s.*/\2/p' .cache/pytest.log | tail -n 1 > .cache/passed; \
		exit $$status
	@$(BIN)/coverage report

interop: $(VENV)/equipped ## read, check and replay the recorded sessions beside the clone; INTEROP="--only NAME --json"
	@$(BIN)/python tests/interop/run.py $(INTEROP)

KILLS ?= 50
crash: $(VENV)/equipped ## kill processes that work over stores, and look at what is left; KILLS=200 CRASH="--seed N --json"
	@$(BIN)/python tests/crash/rounds.py --kills $(KILLS) $(CRASH)

bench: $(VENV)/equipped ## measure what docs/performance.md tells; BENCH="--quick --only ROW --json FILE"
	@$(BIN)/python benchmarks/run.py $(BENCH)

clean: ## remove the environment, caches and builds
	rm -rf $(VENV) .cache build dist broodline.egg-info .hypothesis benchmarks/results.json
	rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# --- the environment, in three steps; each runs again only when its file is older than what it is made from.

$(VENV)/made-in:
	@[ -n "$(PYTHON)" ] && "$(PYTHON)" -c '$(NEW_ENOUGH)' 2>/dev/null || { \
		echo "set-up: needs Python 3.11 or newer, and '$(or $(PYTHON),python3)' is not; say which one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "set-up: $(PYTHON) cannot make environments (no ensurepip); on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "set-up: a fresh environment in $(VENV), with $$("$(PYTHON)" --version)"
	@rm -rf $(VENV)
	@"$(PYTHON)" -m venv $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1'
	@echo "$(CURDIR)" > $@

$(VENV)/installed: $(VENV)/made-in pyproject.toml
	@echo "set-up: broodline and what it depends on"
	@$(PIP) install --editable .
	@touch $@

$(VENV)/equipped: $(VENV)/installed
	@echo "set-up: what the checks need (ruff, mypy, pyright, pytest, ...)"
	@$(PIP) install --group dev
	@touch $@
