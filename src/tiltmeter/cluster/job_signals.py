"""Handle signals and errors inside the process of a job; matrices and the studio use these functions."""

import logging
import os
import signal

from tiltmeter.cluster.job_runner import LOG
from tiltmeter.errors import TiltmeterError
from tiltmeter.redaction import redact_secrets

logger = logging.getLogger(__name__)

# The exit code of a process that ends because another process has taken over its job.
_TAKEN_OVER = 75


def raise_on_signals() -> None:
    """Make SIGTERM and SIGINT raise a KeyboardInterrupt, even if the parent process ignores SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def exit_after_takeover() -> None:
    """End this process at once, because another process has taken over its job."""
    logger.error("Another process has taken over this job, because this process sent no heartbeat for a long time.")
    # No stored answer is damaged, because each batch of answers is one transaction.
    os._exit(_TAKEN_OVER)


def describe_failure(error: Exception) -> str:
    """Return the reason for a failure as a sentence; log the traceback of an unexpected error."""
    if isinstance(error, TiltmeterError):
        return str(error)
    if isinstance(error, MemoryError):
        return "The machine has not enough memory for this model; give the job more memory, or several GPUs."
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        text = f"{place}{error.strerror or error}; check the path, its permissions and the space on its disk."
        return redact_secrets(text)
    logger.error("The job failed.", exc_info=error)
    first, *_ = [*str(error).strip().splitlines(), ""]
    name = redact_secrets(f"{type(error).__name__}{f': {first[:200]}' if first else ''}")
    return f"{name}; see {LOG} in the folder of the job."
