"""Forms of items: one module per form, discovered in this package and in entry points `tiltmeter.forms`.

>>> list(forms())[:5]
['association', 'gendered-pairs', 'geneval', 'gest', 'multiple-choice']
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.forms.fields import Fields, Problem
from tiltmeter.forms.form import Form, Item, ItemText, JsonValues, Same, TextKind, Unique
from tiltmeter.registry import load_components, package_objects

__all__ = [
    "Fields",
    "Form",
    "Item",
    "ItemText",
    "JsonValues",
    "Problem",
    "Same",
    "TextKind",
    "Unique",
    "form_by_keys",
    "form_named",
    "form_of",
    "forms",
]


@cache
def forms() -> dict[str, Form[Any]]:
    """All forms, by name."""
    return load_components("forms", package_objects(__name__, "FORM"), Form, lambda form: str(form.name))


def form_named(name: str) -> Form[Any]:
    """The form with this name."""
    if name not in forms():
        raise UsageError(f"There is no form of items called {name!r}; there are {', '.join(forms())}.")
    return forms()[name]


def form_of(item: Item) -> Form[Any]:
    """The form of an item."""
    return _by_item()[type(item)]


def form_by_keys(keys: Iterable[str]) -> Form[Any] | None:
    """The form that best matches the keys of a JSONL line; None if no form matches.

    >>> form_by_keys(["id", "language", "stereotype", "male", "female"]).name
    'gendered-pairs'
    """
    return _by_keys(frozenset(keys))


@lru_cache  # most lines of a file have the same set of keys
def _by_keys(keys: frozenset[str]) -> Form[Any] | None:
    scored = [(score, form) for form in forms().values() if (score := form.match_score(keys)) is not None]
    return max(scored, key=lambda entry: entry[0])[1] if scored else None


@cache
def _by_item() -> dict[type[Item], Form[Any]]:
    return {form.item: form for form in forms().values()}
