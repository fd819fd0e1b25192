"""The examples in the docstrings show real numbers."""

import doctest

import pytest

import tiltmeter.measures
from tiltmeter.measures import association, gest, intervals, pairs, power, significance


@pytest.mark.parametrize("module", [tiltmeter.measures, association, gest, intervals, pairs, power, significance])
def test_examples(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed
