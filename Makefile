# `make demo` and `make test` need Python 3.10 or newer, Git and make; they set up everything else in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Tests start memctl thousands of times, which would compile it each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-slow test-all lint format bench dist docs site clean

demo: $(STAMP)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tests/demo.sh

test: $(STAMP)
	$(BIN)/pytest -n auto --dist worksteal

# What takes minutes: agents' own programs, environments that pip builds, upgrades of older memories, races, a kill at
# every single step, many clones.
test-slow: $(STAMP)
	$(BIN)/pytest -n auto --dist worksteal -m slow

test-all: test test-slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# With DATA=FOLDER, real transcripts in it are measured, too.
bench: $(STAMP)
	DATA="$(DATA)" $(BIN)/python -m bench

# Write the parts of the README and of the transcripts that are generated.
docs: $(STAMP)
	$(BIN)/python -m tests.regenerate

# Write the entry for the MCP registry, whose NAME has to be the publisher's: NAME=io.github.YOU/memctl.
server.json: $(STAMP)
	$(BIN)/python -m tests.plugin "$(NAME)"

# Build the site of docs/ into site/; a warning fails. The JSON Schemas are in site/schemas.
site: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	$(BIN)/python -m tests.reference
	$(BIN)/zensical build --strict --clean
	$(BIN)/memctl schema --out site/schemas

# Build dist/, the source archive and the wheel, and try the wheel: what it holds, and as the workflow of a pull request.
dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	WHEEL="$$(ls dist/*.whl)" $(BIN)/pytest -q -m slow tests/test_packaging.py tests/test_workflow.py
	@ls dist/*.whl

clean:
	rm -rf $(VENV) build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@
