# Everything runs from .venv, which `setup` makes with an interpreter that really runs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PY := .venv/bin/python
export PYTHONPATH := functions:layers/shortterm:.
RUN_FLAGS := $(if $(ONCE),--once) $(if $(PORT),--port $(PORT)) $(if $(STATE),--state $(STATE)) $(if $(CONTAINERS),--containers $(CONTAINERS))

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: .venv/.ready  ## make .venv (idempotent)

.venv/.ready: requirements/dev.txt requirements/python
	@requirements/python .venv
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

run: setup  ## start the local stack (ONCE=1: replay the sample conversation and exit)
	@$(PY) -m local up $(RUN_FLAGS)

test: setup  ## the whole suite
	@$(PY) -m pytest

check: setup  ## lint, format, types, import contracts
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@.venv/bin/lint-imports

format: setup  ## apply formatting and safe fixes
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

bench: .venv-bench/.ready  ## measure speed and memory; writes benchmarks/results.json
	@.venv-bench/bin/python -m benchmarks

.venv-bench/.ready: requirements/bench.txt requirements/python
	@requirements/python .venv-bench
	@.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	@touch $@

lock:  ## pin pyproject's dependencies again (needs uv)
	@requirements/lock

.PHONY: help setup run test check format bench lock
