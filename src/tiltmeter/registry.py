"""Find components in the modules of Tiltmeter and in the entry points of other installed packages.

A component is an item form, benchmark, measure, data set, model scheme, export format or translation system. If two
components of one type have the same name, an error names the packages of both.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoints, PackageNotFoundError, entry_points, version
from pkgutil import iter_modules
from typing import Any, NamedTuple

import tiltmeter
from tiltmeter.errors import UsageError

OWN_PACKAGE = "tiltmeter"


class Component(NamedTuple):
    """The name of a component, the package that provides it, and its value.

    `value` is the component itself, or for a plug-in that is not loaded yet, a function that loads the component.
    """

    name: str
    package: str
    value: Any


@dataclass(frozen=True, slots=True)
class ComponentVersion:
    """The name of a component, the package that provides it, and the package's version (empty if unknown)."""

    name: str
    package: str
    version: str

    @property
    def is_plugin(self) -> bool:
        """Whether a package other than Tiltmeter provides the component."""
        return self.package != OWN_PACKAGE


def identify_component(group: str, name: str, component: Any) -> ComponentVersion:
    """Return the name of a component of the type `group`, its package, and the version of the package.

    >>> from tiltmeter.forms import get_form
    >>> identify_component("forms", "pairs", get_form("pairs")).package
    'tiltmeter'
    """
    packages = (plugin.package for plugin in list_plugins(group) if plugin.value() is component)
    package = next(packages, OWN_PACKAGE)
    return ComponentVersion(name, package, find_installed_version(package) or "")


def find_installed_version(package: str) -> str | None:
    """Return the version of a package; None if the package is not installed.

    The version of Tiltmeter is that of the code that runs. After an update of an editable installation, the version in
    its metadata is still the old one.
    """
    if package == OWN_PACKAGE:
        return tiltmeter.__version__
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def find_package_objects(package: str, attribute: str) -> list[Any]:
    """Return the objects named `attribute` in the modules of a package, sorted by module name.

    >>> [form.name for form in find_package_objects("tiltmeter.forms", "FORM")][:2]
    ['association', 'gendered-pairs']
    """
    names = [f"{package}.{module.name}" for module in iter_modules(import_module(package).__path__)]
    modules = [import_module(name) for name in names]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]


def list_plugins(group: str, expected: type = object) -> list[Component]:
    """Return the plug-ins of a type: a component for each entry point of the group `tiltmeter.<group>`.

    The value of a component is a function that loads the plug-in. The function raises a UsageError if the plug-in
    cannot be loaded or is not of the `expected` type.
    """
    return [
        Component(entry.name, _get_package(entry), _build_loader(entry, group, expected))
        for entry in _read_entry_points(f"tiltmeter.{group}", tuple(sys.path))
    ]


def index_components(group: str, components: Iterable[Component]) -> dict[str, Any]:
    """Return a dictionary from the names of components to their values; raise a UsageError if two names are equal.

    >>> index_components("measures", [Component("SS", "tiltmeter", 1), Component("SS", "my-plugin", 2)])
    Traceback (most recent call last):
    tiltmeter.errors.UsageError: tiltmeter and my-plugin both provide 'SS' (tiltmeter.measures); uninstall one of them.
    """
    index: dict[str, Component] = {}
    for component in components:
        first = index.setdefault(component.name, component)
        # Two modules of one package may list the same object; this is not an error.
        if first.package != component.package or first.value is not component.value:
            raise UsageError(
                f"{first.package} and {component.package} both provide {component.name!r} (tiltmeter.{group}); "
                "uninstall one of them."
            )
    return {name: component.value for name, component in index.items()}


def load_components(group: str, builtin: Iterable[Any], expected: type, name: Callable[[Any], str]) -> dict[str, Any]:
    """Return a dictionary from names to the components of a type: `builtin` components, and loaded plug-ins.

    `name` is a function that returns the name of a component.
    """
    components = [Component(name(value), OWN_PACKAGE, value) for value in builtin]
    for plugin in list_plugins(group, expected):
        value = plugin.value()
        components.append(Component(name(value), plugin.package, value))
    return index_components(group, components)


@cache
def _read_entry_points(group: str, _path: tuple[str, ...]) -> EntryPoints:
    """Return the entry points of a group in the folders of `sys.path`; reading them takes 30 milliseconds."""
    return entry_points(group=group)


def _get_package(entry: Any) -> str:
    return str(entry.dist.name if entry.dist else entry.value)


def _build_loader(entry: Any, group: str, expected: type) -> Callable[[], Any]:
    def load() -> Any:
        package = _get_package(entry)
        label = f"The plug-in {entry.name!r} (tiltmeter.{group}) of {package}"
        try:
            value = entry.load()
        except Exception as error:  # importing a plug-in may raise any exception
            raise UsageError(
                f"{label} cannot be loaded: {type(error).__name__}: {error}. Repair or uninstall {package}."
            ) from error
        if not isinstance(value, expected):
            raise UsageError(
                f"{label} is {type(value).__name__}; it should be {expected.__name__}. Repair or uninstall {package}."
            )
        return value

    return load


def import_extra(module: str, name: str, service: str) -> Any:
    """Import a module of an optional package; if it is missing, the UsageError names the extra `name` to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{service} needs a package that is not installed; run `pip install 'tiltmeter[{name}]'`."
        ) from error
