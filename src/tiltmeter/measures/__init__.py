"""Measures: from scores to values with intervals, tests and verdicts. One module per form, with `measure(scores)`."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pandas as pd

from tiltmeter.errors import UsageError
from tiltmeter.measures.measure import Measure, get_measure, list_measures, select_deciding_record
from tiltmeter.measures.records import Record
from tiltmeter.registry import find_plugins

__all__ = [
    "Measure",
    "Record",
    "collect_notes",
    "find_measure_module",
    "get_measure",
    "get_measure_function",
    "list_measures",
    "select_deciding_record",
]

MeasureFunction = Callable[..., list[Record]]


def get_measure_function(name: str) -> MeasureFunction:
    """The `measure` function of the module with this name.

    >>> get_measure_function("association").__module__
    'tiltmeter.measures.association'
    """
    try:
        measure: MeasureFunction = _load_measure_modules()[name].measure
    except KeyError:
        raise UsageError(f"There are no measures called {name!r}.") from None
    return measure


def collect_notes(name: str, scores: pd.DataFrame) -> list[str]:
    """Sentences of the module with this name on measures that are not defined for these scores."""
    notes: Callable[[pd.DataFrame], list[str]] | None = getattr(_load_measure_modules()[name], "notes", None)
    return notes(scores) if notes else []


def find_measure_module(roles: AbstractSet[str], columns: AbstractSet[str]) -> str | None:
    """The name of the module that measures scores with these roles and columns; None if there is none.

    >>> find_measure_module({"more", "less", "s_jsd"}, {"bias_type", "direction"})
    'pairs'
    """
    matching = {
        name: len(module.NEEDS_ROLES) + len(module.NEEDS_COLUMNS)
        for name, module in _load_measure_modules().items()
        if roles >= set(module.NEEDS_ROLES) and columns >= set(module.NEEDS_COLUMNS)
    }
    # The one that needs most: what chat models choose has measures of its own for some forms.
    return max(matching, key=matching.__getitem__) if matching else None


@cache
def _load_measure_modules() -> dict[str, Any]:
    """All modules with a `measure` function: built in, and from plug-ins."""
    modules: dict[str, Any] = {m.name: import_module(f"{__name__}.{m.name}") for m in iter_modules(__path__)}
    modules |= {name: load() for name, load in find_plugins("measures").items()}
    return {name: module for name, module in modules.items() if hasattr(module, "measure")}
