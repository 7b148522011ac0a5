# Every job is one command, the same by hand and in continuous integration. The first one builds .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

# Timings and progress should appear as they happen, and no test or script needs a screen.
export PYTHONUNBUFFERED := 1
export MPLBACKEND ?= Agg

.PHONY: help test coverage fuzz lint format demo bench docs pages dist oldest newest release-check ci clean
.DELETE_ON_ERROR:

help:
	@echo "make test    run the tests and the examples in docstrings (ARGS=... goes to pytest)"
	@echo "make coverage  the same, and which lines and branches they reach; fewer than 95 % of the branches are an error"
	@echo "make fuzz    an hour of changed files, then long sequences of stream operations, kills and drift"
	@echo "make lint    ruff check, ruff format --check, mypy"
	@echo "make format  let ruff fix and format the code"
	@echo "make demo    train on real data, print the scores, save reliability diagrams and a report to open"
	@echo "make bench   run benchmarks/bench_*.py"
	@echo "make docs    build the documentation site, examples and all, into docs/_build/html; warnings are errors"
	@echo "make pages   run the code on the pages of the documentation and write down what it prints and draws"
	@echo "make dist    build wheel and sdist into dist/, install the wheel in an empty environment and time its import"
	@echo "make oldest  run the tests with the oldest versions of the dependencies that pyproject.toml allows"
	@echo "make newest  run the tests with the newest versions, pre-releases included"
	@echo "make release-check  version, dist, docs, oldest, newest, and the wheel on each Python found (STEPS=... for some)"
	@echo "make ci      lint, then test"
	@echo "make clean   remove .venv and everything built"

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		"dirichletgp needs Python 3.11 or newer; try: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv --clear $(VENV)

# One stamp per extra: .venv/.installed-test says that `.[test]` of this pyproject.toml is installed.
$(VENV)/.installed-%: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "installing dirichletgp[$*] into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

# A file of tests at a time on every core; ARGS="-n 0 ..." runs them in one process.
test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist loadfile $(ARGS)

# Lines and branches that the tests reach; what they do not reach is listed. Branches are also counted alone.
coverage: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist loadfile --cov=dirichletgp --cov-branch \
		--cov-report=term:skip-covered --cov-report=json:build/coverage.json $(ARGS)
	$(BIN)/python tools/branch_coverage.py build/coverage.json

# The long versions of tests that `make test` runs briefly: docs/reliability.md says what they promise.
FUZZ_SECONDS ?= 3600
fuzz: $(VENV)/.installed-test
	$(BIN)/python tools/fuzz.py --seconds $(FUZZ_SECONDS)
	DIRICHLETGP_EXAMPLES=5000 $(BIN)/python -m pytest -n 0 -q tests/test_mutated_tables.py
	DIRICHLETGP_SEQUENCES=200 DIRICHLETGP_STEPS=100 $(BIN)/python -m pytest -n 0 -q tests/test_stream_sequences.py
	$(BIN)/python tools/kills.py 100
	$(BIN)/python tools/stream_drift.py 10000

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py $(ARGS)

bench: $(VENV)/.installed-demo
	@set -e; for script in benchmarks/bench_*.py; do \
		echo "== $$script"; $(BIN)/python $$script $(ARGS); done

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Pages whose code runs; the outputs and pictures on them are replaced by what it prints and draws now.
PAGES ?= docs/start.md $(filter-out docs/recipes/index.md,$(wildcard docs/recipes/*.md))
pages: $(VENV)/.installed-pages
	$(BIN)/python tools/run_pages.py $(PAGES)

dist: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/check_wheel.py dist

# Environments of their own, so that neither disturbs the other. ARGS goes to pytest.
oldest:
	$(PYTHON) tools/with_versions.py oldest $(ARGS)

newest:
	$(PYTHON) tools/with_versions.py newest $(ARGS)

# Everything before a release; what cannot be had here is skipped, and said so. ARGS goes to pytest.
STEPS ?=
release-check:
	$(PYTHON) tools/release_check.py $(if $(STEPS),--steps $(STEPS)) -- $(ARGS)

ci:
	$(MAKE) lint
	$(MAKE) test

clean:
	rm -rf $(VENV) .venv-* docs/_build docs/auto_examples docs/generated build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -prune -exec rm -rf {} +
