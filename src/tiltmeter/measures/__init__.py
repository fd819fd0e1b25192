"""What scores mean: a module for each family of measures, each with `measure(scores) -> list[Record]`."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import cast

import pandas as pd

from tiltmeter.errors import UsageError
from tiltmeter.measures.records import Record

Measure = Callable[[pd.DataFrame], list[Record]]


def measures_for(name: str) -> Measure:
    """The function that turns scores into records, by the name of its module.

    >>> measures_for("association").__module__
    'tiltmeter.measures.association'
    """
    module = f"{__name__}.{name}"
    if not name.isidentifier() or find_spec(module) is None:
        raise UsageError(f"There are no measures called {name!r}.")
    try:
        return cast(Measure, import_module(module).measure)
    except AttributeError:
        raise UsageError(f"There are no measures called {name!r}.") from None
