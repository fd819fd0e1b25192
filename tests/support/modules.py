"""The modules of Tiltmeter that can be imported here."""

import pkgutil
from importlib.util import find_spec

import tiltmeter

# This module is loaded by Inspect, which is an extra.
_OF_EXTRAS = {"tiltmeter.integrations.inspect_tasks": "inspect_ai"}


def list_modules() -> list[str]:
    """Return the names of all modules but `__main__`, which runs the command, and those of missing extras."""
    names = (module.name for module in pkgutil.walk_packages(tiltmeter.__path__, "tiltmeter."))
    missing = {name for name, package in _OF_EXTRAS.items() if find_spec(package) is None}
    return [name for name in names if name != "tiltmeter.__main__" and name not in missing]
