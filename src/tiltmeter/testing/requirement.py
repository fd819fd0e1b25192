"""Helpers of the conformance checks: assertions whose message names the component, and a check for JSON objects."""

import json
from collections.abc import Callable

Require = Callable[[object, str], None]


def build_requirement(component: str) -> Require:
    """Return a function that raises an AssertionError about the component if a condition is false."""

    def require(condition: object, problem: str) -> None:
        if not condition:
            raise AssertionError(f"{component}: {problem}")

    return require


def is_json_object(values: object) -> bool:
    """Return whether a value is a dictionary that can be written as JSON."""
    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return isinstance(values, dict)
