# Everything here works from a fresh clone with nothing but Python 3.11 or newer and make.
PYTHON ?= python3
RUNNERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PATHS := services libs tools tests examples benchmarks

# Images often forbid Python to keep its bytecode; every command would then compile all it imports again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test check fmt lint bench up down services services-stop lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# `pip install .` into .venv puts a copy in the place of this checkout; a setup puts the checkout back.
setup: $(VENV)/.dev ## Make .venv with everything for working on Proctor
	@$(BIN)/python -m tools.editable || $(PIP) install -qq --no-compile --no-deps -e .

demo: $(VENV)/.embedded ## Run the example bot's suite; needs no key, no network, no server
	@$(BIN)/python -m tools.demo

test: $(VENV)/.dev services ## Run all tests, also those on real RabbitMQ and PostgreSQL
	@PROCTOR_REQUIRE_REAL=true $(BIN)/pytest

check: lint test ## Run the linters, the type checker, the import contracts and all tests

lint: $(VENV)/.dev ## Run the linters, the type checker and the import contracts
	$(BIN)/ruff format --check $(PATHS)
	$(BIN)/ruff check $(PATHS)
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(VENV)/.dev ## Format the code and fix what can be fixed by itself
	$(BIN)/ruff format $(PATHS)
	$(BIN)/ruff check --fix $(PATHS)

bench: $(VENV)/.dev ## Measure speed and memory, and simulate how often the statistics are wrong
	@$(BIN)/python -m benchmarks

up: $(VENV)/.dev ## Start all five services on real servers (Docker Compose, or local processes without Docker)
	@$(BIN)/python -m tools.local up --runners $(RUNNERS)

down: $(VENV)/.dev ## Stop what `make up` started
	@$(BIN)/python -m tools.local down

services: $(VENV)/.dev ## Find, start or install RabbitMQ and PostgreSQL, and say which were chosen
	@$(BIN)/python -m tools.servers start

services-stop: $(VENV)/.dev ## Stop the servers that `make services` started
	@$(BIN)/python -m tools.servers stop

lock: $(VENV)/.dev ## Write requirements/*.txt anew
	@$(BIN)/python -m tools.lock

clean: ## Remove the virtual environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis .pytest_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Proctor needs Python 3.11 or newer: make PYTHON=/path/to/python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# --no-compile: Python compiles what it imports anyway, and compiling everything takes half of the time.
# WARM compiles what every command imports, for shells whose Python may not keep bytecode.
WARM := $(BIN)/python -c "import proctor_cli.embedded.local"
$(VENV)/.embedded: requirements/embedded.txt pyproject.toml | $(BIN)/python
	@test -e $(VENV)/.dev || echo "Installing the embedded runtime …"
	@test -e $(VENV)/.dev || $(PIP) install -qq --no-compile -r requirements/embedded.txt
	@test -e $(VENV)/.dev || $(PIP) install -qq --no-compile --no-deps -e .
	@$(WARM)
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	@echo "Installing everything for working on Proctor …"
	@$(PIP) install -qq --no-compile -r requirements/dev.txt
	@$(PIP) install -qq --no-compile --no-deps -e .
	@$(WARM)
	@touch $@
