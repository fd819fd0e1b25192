"""Discovery of components: modules of Tiltmeter's own packages, and entry points of installed packages."""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Any

from tiltmeter.errors import UsageError


def find_package_objects(package: str, attribute: str) -> list[Any]:
    """The objects called `attribute` in the modules of a package, sorted by module name.

    >>> [form.name for form in find_package_objects("tiltmeter.forms", "FORM")][:2]
    ['association', 'gendered-pairs']
    """
    names = [f"{package}.{module.name}" for module in iter_modules(import_module(package).__path__)]
    modules = [import_module(name) for name in names]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]


def find_plugins(group: str) -> dict[str, Callable[[], Any]]:
    """Loaders of the entry points in the group `tiltmeter.<group>`, by name."""
    return {entry.name: _build_loader(entry, group) for entry in entry_points(group=f"tiltmeter.{group}")}


def _build_loader(entry: Any, group: str) -> Callable[[], Any]:
    def load() -> Any:
        try:
            return entry.load()
        except Exception as error:  # a plug-in's module may raise anything
            package = entry.dist.name if entry.dist else entry.value
            raise UsageError(
                f"The plug-in {entry.name!r} (tiltmeter.{group}) of {package} cannot be loaded: "
                f"{type(error).__name__}: {error}. Repair or uninstall {package}."
            ) from error

    return load


def collect_components(builtin: list[Any], group: str, expected: type, name: Callable[[Any], str]) -> dict[str, Any]:
    """Built-in objects and those of plug-ins, by name.

    A plug-in that is not of the `expected` type, or whose name is taken, raises a UsageError.
    """
    objects = {name(component): component for component in builtin}
    for entry, load in find_plugins(group).items():
        plugin = load()
        if not isinstance(plugin, expected):
            raise UsageError(
                f"The plug-in {entry!r} (tiltmeter.{group}) is {type(plugin).__name__}; it should be "
                f"{expected.__name__}, or it should be uninstalled."
            )
        if name(plugin) in objects:
            raise UsageError(
                f"The plug-in {entry!r} (tiltmeter.{group}) is for {name(plugin)!r}, which is there already; "
                "uninstall one of the two."
            )
        objects[name(plugin)] = plugin
    return objects
