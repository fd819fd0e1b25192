"""A check that an optional value is there, which also narrows its type."""

from typing import TypeVar

_Value = TypeVar("_Value")


def present(value: _Value | None) -> _Value:
    """Return the value; fail if it is None."""
    assert value is not None
    return value
