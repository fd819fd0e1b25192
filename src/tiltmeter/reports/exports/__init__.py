"""Export of results to the formats of other tools; a module `to_NAME.py` in this package writes the format NAME.

The function `export(result, options)` of such a module returns the text of the exported file. Other packages add
formats with entry points in the group `tiltmeter.exports`; each entry point names an export function. A module is
imported only when its format is used, so that listing the formats is fast.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from tiltmeter.registry import OWN_PACKAGE, Component, index_components, list_plugins
from tiltmeter.reports.exports.export_options import ExportOptions

if TYPE_CHECKING:
    from tiltmeter.runs.result import Result

__all__ = ["FORMATS", "Export", "ExportOptions", "list_formats"]

Export = Callable[["Result", ExportOptions], str]

_PREFIX = "to_"


def _export(module: str, result: "Result", options: ExportOptions) -> str:
    text: str = import_module(f"{__name__}.{module}").export(result, options)
    return text


# The export functions of the built-in formats; keys are the names of the formats.
FORMATS: dict[str, Export] = {
    module.name.removeprefix(_PREFIX).replace("_", "-"): partial(_export, module.name)
    for module in iter_modules(__path__)
    if module.name.startswith(_PREFIX)
}


@cache
def list_formats() -> dict[str, Export]:
    """Return the export functions of the built-in formats and of plug-ins; keys are the names of the formats."""
    builtin = [Component(name, OWN_PACKAGE, export) for name, export in FORMATS.items()]
    plugged = [plugin._replace(value=partial(_export_by_plugin, plugin)) for plugin in list_plugins("exports")]
    return index_components("exports", [*builtin, *plugged])


def _export_by_plugin(plugin: Component, result: "Result", options: ExportOptions) -> str:
    text: str = plugin.value()(result, options)
    return text
