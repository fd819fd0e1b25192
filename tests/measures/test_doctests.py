import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import tiltmeter.measures

MODULES = [
    "tiltmeter.measures",
    *(f"tiltmeter.measures.{module.name}" for module in iter_modules(tiltmeter.measures.__path__)),
]
# These describe data and have nothing to show.
WITHOUT = {"tiltmeter.measures.rule", "tiltmeter.measures.winobias"}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert not found.failed
    assert bool(found.attempted) == (name not in WITHOUT)
