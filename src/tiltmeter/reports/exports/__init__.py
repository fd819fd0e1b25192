"""Results in the formats of other tools: the module `to_NAME.py` of this package exports to the format NAME.

Each has a function `export(result, options)`, which returns the text of the file. The modules are imported on use, so
that the command line can list the formats without importing what they need.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from tiltmeter.reports.exports.export_options import ExportOptions

if TYPE_CHECKING:
    from tiltmeter.runs.result import Result

__all__ = ["FORMATS", "ExportOptions"]

_PREFIX = "to_"


def _export(module: str, result: "Result", options: ExportOptions) -> str:
    text: str = import_module(f"{__name__}.{module}").export(result, options)
    return text


FORMATS: dict[str, Callable[["Result", ExportOptions], str]] = {
    module.name.removeprefix(_PREFIX).replace("_", "-"): partial(_export, module.name)
    for module in iter_modules(__path__)
    if module.name.startswith(_PREFIX)
}
