import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import tiltmeter.comparing
import tiltmeter.reports
import tiltmeter.runs

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (tiltmeter.runs, tiltmeter.reports, tiltmeter.comparing)
    for module in iter_modules(package.__path__)
    if not module.ispkg
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    assert not doctest.testmod(import_module(name)).failed
