import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "rounding",
        "sources.gest_scores",
        "sources.oeztuerk",
        "sources.gest_translations",
    ],
)
def test_examples_in_docstrings(module: str) -> None:
    results = doctest.testmod(import_module(f"tiltmeter.papers.{module}"))
    assert results.attempted
    assert not results.failed
