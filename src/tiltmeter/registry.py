"""What Tiltmeter is made of, found: modules of its own folders, and objects that other packages bring."""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Any

from tiltmeter.errors import UsageError


def own(package: str, attribute: str) -> list[Any]:
    """The objects called `attribute` in the modules of a package, in the order of the modules' names.

    >>> [form.name for form in own("tiltmeter.forms", "FORM")][:2]
    ['association', 'gendered-pairs']
    """
    names = [f"{package}.{module.name}" for module in iter_modules(import_module(package).__path__)]
    modules = [import_module(name) for name in names]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]


def plugins(group: str) -> dict[str, Callable[[], Any]]:
    """What installed packages bring under the entry points `tiltmeter.<group>`, by name: call to load it."""
    return {entry.name: _loader(entry, group) for entry in entry_points(group=f"tiltmeter.{group}")}


def _loader(entry: Any, group: str) -> Callable[[], Any]:
    def load() -> Any:
        try:
            return entry.load()
        except Exception as error:  # whatever somebody else's module comes up with
            package = entry.dist.name if entry.dist else entry.value
            raise UsageError(
                f"The plug-in {entry.name!r} (tiltmeter.{group}) of {package} cannot be loaded: "
                f"{type(error).__name__}: {error}. Repair or uninstall {package}."
            ) from error

    return load


def by_name(found: list[Any], group: str, expected: type, name: Callable[[Any], str]) -> dict[str, Any]:
    """Tiltmeter's own objects and those of plug-ins, by name; an error where a plug-in takes a name that is taken."""
    named = {name(one): one for one in found}
    for entry, load in plugins(group).items():
        plugin = load()
        if not isinstance(plugin, expected):
            raise UsageError(
                f"The plug-in {entry!r} (tiltmeter.{group}) is {type(plugin).__name__}; it should be "
                f"{expected.__name__}, or it should be uninstalled."
            )
        if name(plugin) in named:
            raise UsageError(
                f"The plug-in {entry!r} (tiltmeter.{group}) is for {name(plugin)!r}, which is there already; "
                "uninstall one of the two."
            )
        named[name(plugin)] = plugin
    return named
