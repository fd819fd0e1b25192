"""What an item is: one file for each form, found by walking this folder; others by the entry points `tiltmeter.forms`.

>>> list(forms())[:5]
['association', 'gendered-pairs', 'gest', 'pairs', 'winobias']
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.forms.fields import Fields, Problem
from tiltmeter.forms.form import Form, Item, ItemText, JsonValues, Unique
from tiltmeter.registry import by_name, own

__all__ = [
    "Fields",
    "Form",
    "Item",
    "ItemText",
    "JsonValues",
    "Problem",
    "Unique",
    "form_by_keys",
    "form_named",
    "form_of",
    "forms",
]


@cache
def forms() -> dict[str, Form[Any]]:
    """All forms, by name."""
    return by_name(own(__name__, "FORM"), "forms", Form, lambda form: str(form.name))


def form_named(name: str) -> Form[Any]:
    """The form of that name, or that had it in an earlier version.

    >>> form_named("gest-pairs").name
    'gendered-pairs'
    """
    for form in forms().values():
        if name == form.name or name in form.formerly:
            return form
    raise UsageError(f"There is no form of items called {name!r}; there are {', '.join(forms())}.")


def form_of(item: Item) -> Form[Any]:
    """The form of an item."""
    return _by_item()[type(item)]


def form_by_keys(keys: Iterable[str]) -> Form[Any] | None:
    """The form that a line with these keys has; None if they tell none. Of several, the one they fit best.

    >>> form_by_keys(["id", "language", "stereotype", "male", "female"]).name
    'gendered-pairs'
    """
    return _by_keys(frozenset(keys))


@lru_cache  # the lines of a file have few sets of keys
def _by_keys(keys: frozenset[str]) -> Form[Any] | None:
    fits = [(fit, form) for form in forms().values() if (fit := form.fit(keys)) is not None]
    return max(fits, key=lambda entry: entry[0])[1] if fits else None


@cache
def _by_item() -> dict[type[Item], Form[Any]]:
    return {form.item: form for form in forms().values()}
