"""The inside of a job's process, for matrices and the studio: signals, and failures as sentences."""

import logging
import os
import signal

from tiltmeter.cluster.job_runner import LOG
from tiltmeter.errors import TiltmeterError
from tiltmeter.redaction import redact_secrets

logger = logging.getLogger(__name__)

# The exit code of a process that another one has taken the job from.
_TAKEN_OVER = 75


def raise_on_signals() -> None:
    """Raise a KeyboardInterrupt at SIGTERM and at SIGINT, which the process that started this one may ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def exit_taken_over() -> None:
    """End this process, because another one has the lock of its job."""
    logger.error("Another process has taken this job over, since this one did not show a sign of life for long.")
    os._exit(_TAKEN_OVER)  # stored answers are safe: each batch is one transaction


def describe_failure(error: Exception) -> str:
    """The reason for a failure, as a sentence; an unexpected error is logged with its traceback."""
    if isinstance(error, TiltmeterError):
        return str(error)
    if isinstance(error, MemoryError):
        return "The memory of its machine is too small for this model; give the job more memory, or several GPUs."
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        text = f"{place}{error.strerror or error}; check the path, its permissions and the space on its disk."
        return redact_secrets(text)
    logger.error("The job failed.", exc_info=error)
    first, *_ = [*str(error).strip().splitlines(), ""]
    name = redact_secrets(f"{type(error).__name__}{f': {first[:200]}' if first else ''}")
    return f"{name}; {LOG} of its folder says more."
