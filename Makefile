# `make` shows what there is. Everything sets itself up first.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
RUN := .venv/bin/
PYTEST := $(RUN)pytest -n 3 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup serve quick test check format openapi bench soak clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

setup: .venv/ready ## install everything into .venv

.venv/ready: pyproject.toml uv.lock | $(UV)
	$(UV) sync --quiet --locked --python $(PYTHON)
	$(RUN)python -m compileall -q src
	@touch $@

.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet uv

serve: setup ## serve on http://127.0.0.1:8420 and print the token
	$(RUN)crofter serve

quick: setup ## the tests that take two minutes: SQLite only, no browsers, storms or other processes
	$(PYTEST) --scope quick

test: check ## run every check and the test suite, in less than ten minutes
	@sh tools/browser.sh
	$(PYTEST) --whole

check: setup ## style, types, import directions, generated files
	$(RUN)ruff check .
	$(RUN)ruff format --check .
	$(RUN)mypy
	$(RUN)lint-imports
	$(RUN)python tools/generated.py --check

format: setup ## put the code in order
	$(RUN)ruff check --fix .
	$(RUN)ruff format .

openapi: setup ## write openapi.json, COVERAGE.md and the commands anew
	$(RUN)python tools/generated.py

bench: setup ## measure speed and memory against a constant-bytes ceiling
	$(RUN)python -m bench
	$(RUN)python -m bench speed steps mixed --database postgresql

soak: setup ## everything on both databases, with long storms, in pieces of at most 30 minutes (PIECE=name runs one)
	@sh tools/browser.sh
	$(RUN)python tools/soak.py $(PIECE)

clean: ## remove what was installed and built, not your data
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
