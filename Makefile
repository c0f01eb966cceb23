# `make` shows what there is. Everything sets itself up first.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
RUN := .venv/bin/
PYTEST := $(RUN)pytest -n 3 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup node console serve quick test check format openapi bench soak sbom clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

setup: .venv/ready ## install everything into .venv, with what development needs

# What a start imports is compiled here, also where PYTHONDONTWRITEBYTECODE would have every start do it again.
define compile
$(RUN)python -m compileall -q src
PYTHONDONTWRITEBYTECODE= $(RUN)python -c "import crofter.cli.serve, crofter.db.sqlite, crofter.db.postgres, crofter.login.app"
endef

.venv/ready: pyproject.toml uv.lock | $(UV)
	$(UV) sync --quiet --locked --all-extras --python $(PYTHON)
	$(compile)
	@touch $@ .venv/serving

# What a server needs and no more. --inexact leaves the tools of a .venv that has them where they are.
SERVING := $(UV) sync --quiet --locked --all-extras --no-dev --inexact --python $(PYTHON)

.venv/serving: pyproject.toml uv.lock | $(UV)
	$(SERVING)
	$(compile)
	@touch $@

.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet uv

# Node comes from PyPI, and only where something is built with it: it is 200 MB. Without it the rest works.
node: .venv/serving
	@$(SERVING) --group console || true

console/dist/index.html: $(shell find console/src console/public -type f ! -name schema.d.ts 2>/dev/null) \
		console/index.html console/package-lock.json console/vite.config.ts
	@$(MAKE) --no-print-directory node
	@$(RUN)python tools/console.py

console: .venv/serving ## build the web console, if something of it has changed
	@$(MAKE) --no-print-directory console/dist/index.html

serve: console ## serve on http://127.0.0.1:8420 and print the token
	$(RUN)crofter serve

quick: setup ## the tests that take two minutes: SQLite only, no browsers, storms or other processes
	$(PYTEST) --scope quick

test: check ## run every check and the test suite, in less than ten minutes
	@sh tools/browser.sh
	@$(MAKE) --no-print-directory node
	@$(RUN)python tools/console.py --check
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

openapi: setup ## write openapi.json and all that follows from it anew
	$(RUN)python tools/generated.py

bench: setup ## measure speed and memory against a constant-bytes ceiling
	$(RUN)python -m bench
	$(RUN)python -m bench speed steps mixed --database postgresql

soak: setup ## everything on both databases, with long storms, in pieces of at most 30 minutes (PIECE=name runs one)
	@sh tools/browser.sh
	$(RUN)python tools/soak.py $(PIECE)

sbom: | $(UV) ## write dist/crofter.cdx.json: every package of a release, as CycloneDX
	@mkdir -p dist
	$(UV) export --quiet --locked --no-dev --all-extras --format cyclonedx1.5 --output-file dist/crofter.cdx.json

clean: ## remove what was installed and built, not your data
	rm -rf console/dist console/node_modules
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
