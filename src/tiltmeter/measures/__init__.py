"""Measures of bias: values with intervals, tests and verdicts, computed from the scores of items.

A *measure module* is a module with a function `measure(scores)` that returns records (one for each value). Each form of
items (sentence pairs, multiple choice, …) has at least one measure module.
"""

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pandas as pd

from tiltmeter.errors import UsageError
from tiltmeter.measures.measure import (
    ItemScale,
    Measure,
    Quantity,
    find_item_scale,
    get_measure,
    list_measures,
    list_quantities,
    select_deciding_record,
)
from tiltmeter.measures.records import Record
from tiltmeter.registry import OWN_PACKAGE, Component, index_components, list_plugins

__all__ = [
    "Measure",
    "Record",
    "collect_notes",
    "find_measure_module",
    "find_module_scale",
    "get_measure",
    "get_measure_function",
    "get_measure_module",
    "is_measure_module",
    "list_comparable_quantities",
    "list_measures",
    "select_deciding_record",
]

MeasureFunction = Callable[..., list[Record]]


def get_measure_function(name: str) -> MeasureFunction:
    """Return the `measure` function of the measure module with this name.

    >>> get_measure_function("association").__module__
    'tiltmeter.measures.association'
    """
    measure: MeasureFunction = get_measure_module(name).measure
    return measure


def get_measure_module(name: str) -> Any:
    """Return the measure module with this name; raise an error if there is no such module."""
    try:
        return _load_measure_modules()[name]
    except KeyError:
        raise UsageError(f"There is no measure module {name!r}; install the plug-in that provides it.") from None


def is_measure_module(name: str) -> bool:
    """Tell whether there is a measure module with this name."""
    return name in _load_measure_modules()


def collect_notes(name: str, scores: pd.DataFrame) -> list[str]:
    """Return the sentences of a measure module about a table of scores, for example that a measure is not defined."""
    notes: Callable[[pd.DataFrame], list[str]] | None = getattr(get_measure_module(name), "notes", None)
    return notes(scores) if notes else []


def list_comparable_quantities(module: str, roles: Iterable[str], columns: Iterable[str]) -> list[Quantity]:
    """Return the measures of a module that can be compared item by item, for scores with these roles and columns.

    Roles are the values of the column `role` in a table of scores, for example the two sentences of a pair.

    >>> [quantity.name for quantity in list_comparable_quantities("pairs", ["more", "less", "s_jsd"], ["bias_type"])]
    ['CPS', 'S_JSD x 1e3']
    """
    return list_quantities(roles, columns, get_measure_module(module).MEASURES)


def find_module_scale(module: str, roles: Iterable[str], columns: Iterable[str]) -> ItemScale | None:
    """Return the scale that sorts items from anti-stereotypical to stereotypical; None if the module has no scale.

    `roles` and `columns` are those of the table of scores.

    >>> find_module_scale("pairs", ["more", "less"], ["bias_type"]).quantity.name
    'CPS'
    """
    return find_item_scale(roles, columns, get_measure_module(module).MEASURES)


def find_measure_module(roles: AbstractSet[str], columns: AbstractSet[str]) -> str | None:
    """Return the name of the measure module for scores with these roles and columns; None if no module matches.

    Use this function only if the manifest of a run does not name the module.

    >>> find_measure_module({"more", "less", "s_jsd"}, {"bias_type", "direction"})
    'pairs'
    """
    matching = {
        name: len(module.NEEDS_ROLES) + len(module.NEEDS_COLUMNS)
        for name, module in _load_measure_modules().items()
        if roles >= set(module.NEEDS_ROLES) and columns >= set(module.NEEDS_COLUMNS)
    }
    # If several modules match, the most specific one is used: some forms have a second module for chat models.
    return max(matching, key=matching.__getitem__) if matching else None


@cache
def _load_measure_modules() -> dict[str, Any]:
    """Return a mapping from names to all measure modules, those of Tiltmeter and those of plug-ins."""
    builtin = [Component(m.name, OWN_PACKAGE, import_module(f"{__name__}.{m.name}")) for m in iter_modules(__path__)]
    plugged = [plugin._replace(value=plugin.value()) for plugin in list_plugins("measures", ModuleType)]
    return index_components("measures", [module for module in (*builtin, *plugged) if hasattr(module.value, "measure")])
