"""The examples in the docstrings show real numbers."""

import doctest

import pytest

import tiltmeter.measures
from tiltmeter.measures import association, intervals, significance


@pytest.mark.parametrize("module", [tiltmeter.measures, association, intervals, significance])
def test_examples(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed
