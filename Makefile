# Every target sets up .venv by itself; all it needs is python3 (3.11 or later, with venv) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: reproduce test lint types bench clean

reproduce: $(VENV)/installed
	$(BIN)/separatrix reproduce

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

bench: $(VENV)/installed-dev
	$(BIN)/separatrix bench

clean:
	rm -rf $(VENV) build dist report .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are files inside .venv: they go when it goes, and are stale when pyproject.toml is newer.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/installed

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
