"""Results in the formats of other tools: the module `to_NAME.py` of this package exports to the format NAME.

Its function `export(result, options)` returns the text of the file. Other packages add formats with entry points in the
group `tiltmeter.exports`, which name such a function. Modules are imported on use, so that listing the formats is fast.
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


# The built-in formats.
FORMATS: dict[str, Export] = {
    module.name.removeprefix(_PREFIX).replace("_", "-"): partial(_export, module.name)
    for module in iter_modules(__path__)
    if module.name.startswith(_PREFIX)
}


@cache
def list_formats() -> dict[str, Export]:
    """Return all formats by name, built in and from plug-ins."""
    builtin = [Component(name, OWN_PACKAGE, export) for name, export in FORMATS.items()]
    plugged = [plugin._replace(value=partial(_export_by_plugin, plugin)) for plugin in list_plugins("exports")]
    return index_components("exports", [*builtin, *plugged])


def _export_by_plugin(plugin: Component, result: "Result", options: ExportOptions) -> str:
    text: str = plugin.value()(result, options)
    return text
