# `make run` starts everything, `make test` runs the tests (`make trust` some for longer),
# `make check` looks at the code. Each installs what it needs first.
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: run test trust bench check fmt lock clean
.DELETE_ON_ERROR:

run: .venv/run.stamp
	@exec $(BIN)/cairn up

# A traceback with columns parses source; where that happens inside a parse, as when rubbish is collected, Python 3.11 fails.
PYTEST = PYTHONNODEBUGRANGES=1 $(BIN)/pytest
# Two processes, each with servers of its own, for tests wait as often as they compute. tests/conftest.py deals them out.
test: .venv/dev.stamp
	$(PYTEST) -n 2

# Times, as ratios to a hello within one run: about a quarter of an hour. BENCH takes options of `cairn bench`.
bench: .venv/dev.stamp
	$(BIN)/cairn bench $(BENCH)

# What must hold, for longer than `make test` has time: more rounds, more messages. Prints what it counted.
trust: .venv/dev.stamp
	$(PYTEST) -s --long tests/trust tests/lease/test_stale_reads.py tests/knowledge/test_shared_texts.py

check: .venv/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/house/test_migrations.py
	$(BIN)/cairn openapi --check
	$(BIN)/cairn problems --check
	$(BIN)/cairn settings --check

fmt: .venv/dev.stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Resolves pyproject.toml again. The versions that a lock already has stay; `rm` a lock first to have newer ones.
COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--excludes requirements/excludes.txt --custom-compile-command "make lock" --quiet
lock: .venv/dev.stamp
	$(COMPILE) --excludes requirements/excludes-run.txt --group build -o requirements.lock
	$(COMPILE) --group dev -c requirements.lock -o requirements-dev.lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find app tests tools alembic -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@tools/venv

# The locks hold everything, with hashes: no dependency is looked for, and the package itself is built without asking an index.
.venv/run.stamp: LOCK = requirements.lock
.venv/dev.stamp: LOCK = requirements-dev.lock
.venv/run.stamp: requirements.lock
.venv/dev.stamp: requirements-dev.lock
.venv/run.stamp .venv/dev.stamp: pyproject.toml | .venv/bin/python
	@echo "Installing $(LOCK) into .venv: about a minute, once."
	@$(PIP) install --quiet --no-deps --require-hashes --only-binary :all: -r $(LOCK)
	@$(PIP) install --quiet --no-deps --no-build-isolation --no-index -e .
	@touch $@
