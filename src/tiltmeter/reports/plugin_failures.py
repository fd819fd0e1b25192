"""Failures of plug-ins while a report is made: a message in the place of what a plug-in should have provided."""

import logging
from collections.abc import Callable
from typing import Any

from tiltmeter.registry import OWN_PACKAGE

_LOG = logging.getLogger(__name__)


def describe_failure(part: str, function: Callable[..., Any], error: Exception) -> str:
    """A message for the report on a part that a plug-in could not provide; errors of built-in parts are raised."""
    package = function.__module__.partition(".")[0]
    if package == OWN_PACKAGE:
        raise error
    _LOG.warning("The %s of the plug-in %s failed.", part, package, exc_info=error)
    return (
        f"The {part} of the plug-in {package} is missing because it failed ({type(error).__name__}: {error}). Repair "
        f"or uninstall {package}."
    )
