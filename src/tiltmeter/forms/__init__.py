"""Forms of items: one module per form, discovered in this package and in entry points `tiltmeter.forms`.

>>> list(get_forms())[:5]
['association', 'gendered-pairs', 'geneval', 'gest', 'multiple-choice']
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.forms.fields import Fields, Problem
from tiltmeter.forms.form import Form, Item, ItemText, JsonValues, SharedValue, TextType, UniqueValue
from tiltmeter.registry import collect_components, find_package_objects

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
]


@cache
def get_forms() -> dict[str, Form[Any]]:
    """All forms, by name."""
    return collect_components(find_package_objects(__name__, "FORM"), "forms", Form, lambda form: str(form.name))


def get_form(name: str) -> Form[Any]:
    """The form with this name or former name.

    >>> get_form("gest-pairs").name
    'gendered-pairs'
    """
    for form in get_forms().values():
        if name == form.name or name in form.former_names:
            return form
    raise UsageError(f"There is no form of items called {name!r}; there are {', '.join(get_forms())}.")


def get_item_form(item: Item) -> Form[Any]:
    """The form of an item."""
    return _map_item_classes()[type(item)]


def detect_form(keys: Iterable[str]) -> Form[Any] | None:
    """The form that best matches the keys of a JSONL line; None if no form matches.

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
