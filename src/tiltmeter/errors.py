"""Every error Tiltmeter raises on purpose.

TiltmeterError          what a user can mend; the command line prints it as one sentence and exits with 2
├── UsageError          a request that cannot be met: unknown benchmark, language, part, option
├── DataError           a data file that is missing a field, malformed, or fails its checks
├── DownloadError       a file that could not be fetched, or whose hash is not the pinned one
└── ModelError          a model that cannot be loaded or cannot answer what is asked
"""


class TiltmeterError(Exception):
    """What went wrong, in one sentence that names the place and the way out."""


class UsageError(TiltmeterError):
    """The request itself cannot be met."""


class DataError(TiltmeterError):
    """A data file is not what it should be."""


class DownloadError(TiltmeterError):
    """A file could not be had, or is not the pinned one."""


class ModelError(TiltmeterError):
    """A model cannot be loaded, or cannot answer a question."""
