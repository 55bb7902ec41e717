# Every target sets up .venv by itself; all it needs is python3 (3.11 or later, with venv) and make. CMake, Ninja and a C++
# compiler are used where they are in PATH (or $CXX names one), and else come from PyPI.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The oldest scikit-learn that is supported, in an environment of its own.
OLDEST := .venv-oldest
# The compiled core, and the tests that are run again with one that stops at bad addresses and undefined behaviour.
LIBRARY := src/separatrix/core/libseparatrix.$(if $(filter Darwin,$(shell uname)),dylib,so)
SANITIZED := tests/test_core.py tests/test_core_processes.py tests/test_sweep_core.py tests/test_gram_core.py \
	tests/test_shards_core.py tests/test_digests.py

.PHONY: reproduce core test test-long test-oldest test-faults sanitize browser explorer lint types docs package bench clean

# Where SEPARATRIX_DATA names the image files they are used, else scikit-learn's digits.
reproduce: $(VENV)/installed
	$(BIN)/separatrix reproduce

# The compiled core alone, into src/separatrix/core; what has not changed is not compiled again.
core: $(LIBRARY)

# A process for every processor; one that has nothing left takes over tests of another. Files stay together until then.
test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto --dist worksteal

# What `make test` has a sample of: 20,000 small problems, hundreds of megabytes in files and in memory, larger image
# problems, benchmarks; and, by themselves, killed processes. The sanitizers first.
test-long: $(VENV)/installed-dev sanitize
	$(BIN)/python -m pytest -n auto --dist loadfile -m 'long and not faults'
	$(BIN)/python -m pytest -m faults

# That version hands pytest a generator of checks, which newer pytests warn about.
test-oldest: $(OLDEST)/installed
	$(OLDEST)/bin/python -m pytest -W 'ignore:Passing a non-Collection iterable:DeprecationWarning' \
		tests/test_estimators.py tests/test_estimators_in_company.py

# Workers and schedulers killed at random moments, on clusters of this machine, by themselves.
test-faults: $(VENV)/installed-dev
	$(BIN)/python -m pytest -m faults tests/test_faults.py

sanitize: $(VENV)/installed-dev
	scripts/sanitize $(SANITIZED)

# Chromium, for the tests that open the report in a browser and are skipped without one.
browser:
	command -v chromium || scripts/install-chromium

# The page of `separatrix explore`, one file made of its sources in src/separatrix/exploring/page; it is committed.
explorer:
	$(PYTHON) scripts/build-explorer

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

# The site in build/docs. Warnings fail it: a broken link, a missing picture, a reference to a name that is not there. The
# second command fails if a page would fetch a script, a style or a font from elsewhere: it has to work without network.
docs: $(VENV)/installed-dev
	$(BIN)/python -m sphinx -W --keep-going -n -b html docs build/docs
	! grep -rnoE '<(script|link)[^>]+(src|href)="(https?:)?//[^"]+"|@import[^;]+//|url\((https?:)?//' build/docs \
		--include='*.html' --include='*.css'

# Wheel and sdist, installed and used from an empty folder: about two minutes. First: the linker keeps one copy of an inline
# function, so that one compiled for AVX-512 could be run where there is none; isa.cpp has none outside of its namespaces.
package: $(VENV)/installed-dev
	! command -v nm > /dev/null || ! nm -AC build/core/CMakeFiles/isa_*.dir/src/separatrix/core/isa.cpp.o \
		| grep ' W ' | grep -vE '(baseline|avx2|avx512)::'
	$(BIN)/python scripts/check-packages

bench: $(VENV)/installed-dev
	$(BIN)/separatrix bench

clean:
	rm -rf $(VENV) $(OLDEST) build dist report .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f src/separatrix/core/libseparatrix.*
	rm -rf docs/drawn docs/gallery docs/reference/generated
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are files inside .venv: they go when it goes, and are stale when pyproject.toml is newer. A core that is older
# than its sources is built again before all else, without another run of pip.
$(VENV)/installed: pyproject.toml | $(LIBRARY)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[lab]'
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(LIBRARY)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[dev]'
	@touch $@ $(VENV)/installed

$(LIBRARY): CMakeLists.txt hatch_build.py $(wildcard src/separatrix/core/*.[hc]pp src/separatrix/core/*.map) | $(VENV)/tools
	$(BIN)/python hatch_build.py build/core
	@touch $@

# What builds the core: of CMake, Ninja and a compiler those that the machine lacks.
$(VENV)/tools $(OLDEST)/tools: %/tools: hatch_build.py | %/bin/python
	$*/bin/python -m pip install --quiet 'hatchling>=1.25'
	$*/bin/python -m pip install --quiet hatchling $$($*/bin/python hatch_build.py needs)
	@touch $@

$(VENV)/bin/python $(OLDEST)/bin/python: %/bin/python:
	$(PYTHON) -m venv $*

# SciPy and polars of its time: later ones deprecate or drop what it calls. Both environments use the one library.
$(OLDEST)/installed: pyproject.toml | $(LIBRARY) $(OLDEST)/tools
	$(OLDEST)/bin/python -m pip install --quiet --no-build-isolation --editable '.[dev]' \
		'scikit-learn==1.7.0' 'scipy<1.16' 'polars<1.40'
	@touch $@
