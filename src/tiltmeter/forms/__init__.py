"""Forms of items: one module per form, in this package or from entry points of the group `tiltmeter.forms`.

>>> list(get_forms())[:5]
['association', 'gendered-pairs', 'geneval', 'gest', 'multiple-choice']
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.forms.fields import Fields, Problem
from tiltmeter.forms.form import Form, Item, ItemText, JsonValues, SharedValue, TextType, UniqueValue
from tiltmeter.registry import find_package_objects, load_components

__all__ = [
    "Fields",
    "Form",
    "Item",
    "ItemText",
    "JsonValues",
    "Problem",
    "SharedValue",
    "TextType",
    "UniqueValue",
    "detect_form",
    "get_form",
    "get_forms",
    "get_item_form",
    "list_hidden_attributes",
]


@cache
def get_forms() -> dict[str, Form[Any]]:
    """Return a mapping from names to forms, with the forms of Tiltmeter and of plug-ins."""
    return load_components("forms", find_package_objects(__name__, "FORM"), Form, lambda form: str(form.name))


@cache
def list_hidden_attributes() -> frozenset[str]:
    """Return the names of the attributes, such as words, that only intervals use; outputs do not show them."""
    return frozenset(name for form in get_forms().values() for name in form.hidden)


def get_form(name: str) -> Form[Any]:
    """Return the form with this name; raise an error if there is no such form."""
    if name not in get_forms():
        raise UsageError(f"There is no form of items called {name!r}; the forms are {', '.join(get_forms())}.")
    return get_forms()[name]


def get_item_form(item: Item) -> Form[Any]:
    """Return the form of an item."""
    return _map_item_classes()[type(item)]


def detect_form(keys: Iterable[str]) -> Form[Any] | None:
    """Return the form that best matches the keys of a JSONL line, or None if no form matches.

    >>> detect_form(["id", "language", "stereotype", "male", "female"]).name
    'gendered-pairs'
    """
    return _detect_form(frozenset(keys))


@lru_cache  # most lines of a file have the same set of keys
def _detect_form(keys: frozenset[str]) -> Form[Any] | None:
    scored = [(score, form) for form in get_forms().values() if (score := form.compute_match_score(keys)) is not None]
    return max(scored, key=lambda entry: entry[0])[1] if scored else None


@cache
def _map_item_classes() -> dict[type[Item], Form[Any]]:
    return {form.item: form for form in get_forms().values()}
