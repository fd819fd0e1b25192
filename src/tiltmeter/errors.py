"""Exceptions for errors that users can fix.

TiltmeterError          base class; the command line prints the message and exits with code 2
├── UsageError          an invalid request: unknown benchmark, language, part, option
├── DataError           a data file that is malformed, lacks a field or fails validation
├── DownloadError       a file that could not be downloaded, or whose hash is not the expected hash
└── ModelError          a model that cannot be loaded or cannot answer a question
"""

from tiltmeter.printable_text import escape_unsafe
from tiltmeter.redaction import redact_secrets


class TiltmeterError(Exception):
    """Base class of all errors that users can fix; the message names the problem, its location and the remedy.

    In the message, control characters are escaped and secrets such as passwords are removed.
    """

    def __str__(self) -> str:
        return escape_unsafe(redact_secrets(super().__str__()))


class UsageError(TiltmeterError):
    """The request is invalid."""


class DataError(TiltmeterError):
    """A data file is invalid."""


class DownloadError(TiltmeterError):
    """A file could not be downloaded, or its hash is not the expected hash."""


class ModelError(TiltmeterError):
    """A model cannot be loaded, or cannot answer a question."""
