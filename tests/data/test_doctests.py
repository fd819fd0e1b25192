import doctest
import importlib
import pkgutil

import pytest

import tiltmeter.data

MODULES = ["tiltmeter.data", *(m.name for m in pkgutil.walk_packages(tiltmeter.data.__path__, "tiltmeter.data."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
