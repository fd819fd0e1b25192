"""Assertions with a message that names the component."""

from collections.abc import Callable


def build_requirement(component: str) -> Callable[[object, str], None]:
    """A function that raises an AssertionError about a component unless a condition is true."""

    def require(condition: object, problem: str) -> None:
        if not condition:
            raise AssertionError(f"{component}: {problem}")

    return require
