# `make` shows what there is. Everything sets itself up first.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
RUN := .venv/bin/
PYTEST := $(RUN)pytest -n 4 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup statements node console serve quick test prepared real check format openapi bench soak sbom docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

setup: .venv/ready ## install everything into .venv, with what development needs

# What a start imports is compiled here, also where PYTHONDONTWRITEBYTECODE would have every start do it again.
define compile
$(RUN)python -m compileall -q src
PYTHONDONTWRITEBYTECODE= $(RUN)python -c "import crofter.cli.serve, crofter.db.sqlite, crofter.db.postgres, crofter.login.app"
endef

# Not the extra `libvirt`, which is built from source and needs libvirt's headers: Debian's own module serves too.
EXTRAS := --extra pdf --extra postgres

.venv/ready: pyproject.toml uv.lock | $(UV)
	$(UV) sync --quiet --locked $(EXTRAS) --python $(PYTHON)
	$(compile)
	@if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then git config core.hooksPath .githooks; fi
	@touch $@ .venv/serving

# What a server needs and no more. --inexact leaves the tools of a .venv that has them where they are.
SERVING := $(UV) sync --quiet --locked $(EXTRAS) --no-dev --inexact --python $(PYTHON)

.venv/serving: pyproject.toml uv.lock | $(UV)
	$(SERVING)
	$(compile)
	@touch $@

# All statements in the databases' words, so that no start has to load what writes them.
src/crofter/db/known_statements.bin: $(shell find src/crofter -name '*.py') | .venv/serving
	@$(RUN)python -m crofter.statements

statements: src/crofter/db/known_statements.bin

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

serve: console statements ## serve on http://127.0.0.1:8420 and print the token
	$(RUN)crofter serve

quick: setup statements ## the tests that take two minutes: SQLite only, no browsers, storms or other processes
	$(PYTEST) --scope quick

test: setup ## run every check and the test suite, in about ten minutes on two cores
	@$(MAKE) --no-print-directory --jobs 2 check prepared
	PYTHONDONTWRITEBYTECODE= $(PYTEST) --whole

# What the tests need, made ready beside the checks.
prepared: setup statements
	@sh tools/browser.sh
	@sh tools/proxy.sh
	@sh tools/real.sh
	@$(MAKE) --no-print-directory node
	@$(RUN)python tools/console.py --check
	@$(MAKE) --no-print-directory .venv/collected

# All tests are compiled once, not by each process of a run; later those few that have changed are, by each of them.
.venv/collected: .venv/ready
	@PYTHONDONTWRITEBYTECODE= $(RUN)pytest --collect-only > /dev/null
	@touch $@

real: setup statements ## one instance on real hosts, without KVM: deployed, killed, restored, moved, deleted
	@sh tools/real.sh
	$(RUN)pytest -rs -s --scope soak tests/drivers/test_real_machines.py tests/drivers/test_real_bridges.py \
		tests/drivers/test_real_filters.py tests/drivers/test_real_vlans.py

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
	$(RUN)python tools/generated.py --examples

bench: setup statements ## measure both databases against a constant-bytes ceiling, into docs/benchmarks.md (PEERS=python: others too)
	$(RUN)python -m bench.report $(if $(PEERS),--peers $(PEERS))

soak: setup statements ## everything on both databases, with long storms, in pieces of at most 30 minutes (PIECE=name runs one)
	@sh tools/browser.sh
	@sh tools/proxy.sh
	@$(MAKE) --no-print-directory node
	$(RUN)python tools/soak.py $(PIECE)

sbom: | $(UV) ## write dist/crofter.cdx.json: every package of a release, as CycloneDX
	@mkdir -p dist
	$(UV) export --quiet --locked --no-dev --all-extras --format cyclonedx1.5 --output-file dist/crofter.cdx.json
	$(PYTHON) tools/npm_packages.py dist/crofter.cdx.json

docs: setup ## build the documentation site, with search, into dist/site
	NO_MKDOCS_2_WARNING=1 $(RUN)mkdocs build --strict

clean: ## remove what was installed and built, not your data
	rm -rf console/dist console/node_modules src/crofter/db/known_statements.bin*
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
