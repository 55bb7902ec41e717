# Every target sets up .venv by itself; all it needs is python3 (3.11 or later, with venv) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The oldest scikit-learn that is supported, in an environment of its own.
OLDEST := .venv-oldest

.PHONY: reproduce test test-long test-oldest test-faults browser lint types docs package bench clean

# Where SEPARATRIX_DATA names the image files they are used, else scikit-learn's digits.
reproduce: $(VENV)/installed
	$(BIN)/separatrix reproduce

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest

# What `make test` has a sample of: all 3,000 small problems, hundreds of megabytes in files and in memory, larger image
# problems, benchmarks; and killed processes.
test-long: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m 'long or faults'

# That version hands pytest a generator of checks, which newer pytests warn about. Compiled kernels are kept apart from
# those of .venv, so that both may be tested at once.
test-oldest: $(OLDEST)/installed
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba $(OLDEST)/bin/python -m pytest -W 'ignore:Passing a non-Collection iterable:DeprecationWarning' \
		tests/test_estimators.py tests/test_estimators_in_company.py

# Workers and schedulers killed at random moments, on clusters of this machine, by themselves; compiled kernels are kept
# apart here too.
test-faults: $(VENV)/installed-dev
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/numba-faults $(BIN)/python -m pytest -m faults tests/test_faults.py

# Chromium, for the tests that open the report in a browser and are skipped without one.
browser:
	command -v chromium || scripts/install-chromium

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

# The site in build/docs. Warnings fail it: a broken link, a missing picture, a reference to a name that is not there. The
# second command fails if a page would fetch a script, a style or a font from elsewhere: it has to work without network.
docs: $(VENV)/installed-dev
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs build/docs
	! grep -rnoE '<(script|link)[^>]+(src|href)="(https?:)?//[^"]+"|@import[^;]+//|url\((https?:)?//' build/docs \
		--include='*.html' --include='*.css'

# Wheel and sdist, installed and used from an empty folder: about two minutes.
package: $(VENV)/installed-dev
	$(BIN)/python scripts/check-packages

bench: $(VENV)/installed-dev
	$(BIN)/separatrix bench

clean:
	rm -rf $(VENV) $(OLDEST) build dist report .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf docs/gallery docs/reference/generated
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are files inside .venv: they go when it goes, and are stale when pyproject.toml is newer.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[lab]'
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/installed

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# SciPy and polars of its time: later ones deprecate or drop what it calls.
$(OLDEST)/installed: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --editable '.[dev]' 'scikit-learn==1.7.0' 'scipy<1.16' 'polars<1.40'
	@touch $@
