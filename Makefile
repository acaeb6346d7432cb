# Everything runs from .venv, which `setup` makes with an interpreter that really runs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PY := .venv/bin/python
export PYTHONPATH := functions:layers/shortterm:.
RUN_FLAGS := $(if $(filter-out 0,$(ONCE)),--once) $(if $(PORT),--port $(PORT)) $(if $(STATE),--state "$(STATE)") $(if $(CONTAINERS),--containers $(CONTAINERS))

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

setup: .venv/.ready  ## make .venv (idempotent)

.venv/.ready: requirements/dev.txt requirements/python
	@requirements/python .venv
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

run: setup  ## start the local stack (ONCE=1: replay the sample conversation and exit)
	@$(PY) -m local up $(RUN_FLAGS)

test: setup .venv-infra/.ready  ## the whole suite
	@$(PY) -m pytest -n auto --maxprocesses 4 --dist worksteal

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

soak: setup  ## drive TURNS=20000 turns of SEED=1 while everything breaks; the last line is the account
	@$(PY) -m soak --turns $(or $(TURNS),20000) --seed $(or $(SEED),1)

openapi: setup  ## write docs/openapi.json out of the wire models
	@$(PY) -m api_document

fuzz: setup  ## fire FUZZ_REQUESTS=100000 requests at a local stack (FUZZ_SEED=1)
	@$(PY) -m fuzz --requests $(or $(FUZZ_REQUESTS),100000) --seed $(or $(FUZZ_SEED),1)

build: setup .venv-sam/.ready  ## build the artifacts into .aws-sam (ARCHITECTURE=x86_64: not for arm64) and print their sizes
	@unset PYTHONPATH MAKEFLAGS MAKELEVEL; SAM_CLI_TELEMETRY=0 ARCHITECTURE=$(ARCHITECTURE) \
	    .venv-sam/bin/sam build --build-in-source --template infra/template.yaml \
	    $(if $(ARCHITECTURE),--parameter-overrides Architecture=$(ARCHITECTURE))
	@$(PY) -m infra.artifacts.sizes .aws-sam/build

local-invoke: setup .venv-sam/.ready  ## run EVENT=events/x.json through FUNCTION=capture as built, in Docker
	@SAM_CLI_TELEMETRY=0 $(PY) -m local.sam $(or $(FUNCTION),capture) \
	    $(or $(EVENT),$(error EVENT is missing: make local-invoke EVENT=events/guild-turn.json)) $(if $(STATE),--state "$(STATE)")

# checkov pins another boto3.
.venv-infra/.ready: requirements/infra.txt requirements/python
	@requirements/python .venv-infra
	@.venv-infra/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/infra.txt
	@touch $@

# The SAM CLI pins another boto3.
.venv-sam/.ready: requirements/sam.txt requirements/python
	@requirements/python .venv-sam
	@.venv-sam/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/sam.txt
	@touch $@

lock:  ## pin pyproject's dependencies again (needs uv)
	@requirements/lock

.PHONY: help setup run test check format bench openapi fuzz soak build local-invoke lock
