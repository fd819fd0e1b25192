"""The message that a report shows instead of a figure or section if a plug-in failed."""

import logging
from collections.abc import Callable
from typing import Any

from tiltmeter.registry import OWN_PACKAGE

_LOG = logging.getLogger(__name__)


def describe_failure(part: str, function: Callable[..., Any], error: Exception) -> str:
    """Return the message for a figure or section of a plug-in that raised `error`.

    If `function` belongs to Tiltmeter and not to a plug-in, raise the error again.
    """
    package = function.__module__.partition(".")[0]
    if package == OWN_PACKAGE:
        raise error
    _LOG.warning("The %s of the plug-in %s failed.", part, package, exc_info=error)
    return (
        f"The {part} of the plug-in {package} is missing because its code failed ({type(error).__name__}: {error}). "
        f"Update or uninstall {package}."
    )
