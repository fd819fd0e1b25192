import doctest
import importlib
import pkgutil

import pytest

import tiltmeter.datasets

MODULES = [
    "tiltmeter.datasets",
    *(m.name for m in pkgutil.walk_packages(tiltmeter.datasets.__path__, "tiltmeter.datasets.")),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
