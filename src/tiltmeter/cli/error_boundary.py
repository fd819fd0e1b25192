"""Convert the exceptions of a command to messages and exit codes: user errors, signals and internal errors."""

import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from tiltmeter.errors import TiltmeterError
from tiltmeter.printable_text import create_plain_console
from tiltmeter.redaction import redact_secrets
from tiltmeter.safe_output import STANDARD_OUTPUT, discard_output

# The exit codes for errors that the user can fix, and for bugs in Tiltmeter. After a signal, the exit code is 128 plus
# the number of the signal.
WRONG_INPUT, FAULT = 2, 70
_RESUME = "Stored answers of models are kept and finished runs are unchanged; run the same command again to continue."


class StopSignal(BaseException):
    """Raised when a signal asks the process to end; `number` is the number of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class TyperWrapped(BaseException):
    """A wrapper that hides the exception `cause` from Typer, because Typer would end without a message about it."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(cause)
        self.cause = cause


@contextmanager
def report_errors(*, debug: bool) -> Iterator[None]:
    """If the `with` block raises an exception, print a message and exit; with `debug`, also print the traceback."""
    handler, unraisable = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    # A ValueError is ignored: only the main thread can set a signal handler.
    with suppress(ValueError):
        signal.signal(signal.SIGTERM, _raise_stop)
    sys.unraisablehook = _resend_signal
    try:
        yield
        sys.stdout.flush()
    except SystemExit as ended:
        with suppress(BrokenPipeError):
            _flush_output(ended)
        raise
    except TyperWrapped as ended:
        _exit_with_error(ended.cause, debug=debug)
    except BaseException as error:
        _exit_with_error(error, debug=debug)
    finally:
        with suppress(ValueError, TypeError):
            signal.signal(signal.SIGTERM, handler)
        sys.unraisablehook = unraisable


def _flush_output(ended: SystemExit) -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _print_error(_describe_output_error(error))
        _discard_output()
        sys.exit(ended.code or WRONG_INPUT)


def _describe_output_error(error: OSError) -> str:
    return f"Standard output cannot be written: {error.strerror}; redirect it to a pipe or to a disk with free space."


def _exit_with_error(error: BaseException, *, debug: bool) -> None:
    if debug:
        traceback.print_exception(error)
    if isinstance(error, StopSignal | KeyboardInterrupt):
        number = error.number if isinstance(error, StopSignal) else signal.SIGINT
        _print_error(f"Stopped. {_RESUME}")
        sys.exit(128 + number)
    if isinstance(error, TiltmeterError):
        _print_error(str(error))
        sys.exit(WRONG_INPUT)
    if isinstance(error, BrokenPipeError):
        _discard_output()
        sys.exit(1)
    if isinstance(error, OSError) and error.filename == STANDARD_OUTPUT:
        _print_error(_describe_output_error(error))
        _discard_output()
        sys.exit(WRONG_INPUT)
    if isinstance(error, OSError) and error.strerror:
        path = f"{error.filename}: " if error.filename is not None else ""
        _print_error(f"{path}{error.strerror}; check the path, its permissions and the free disk space. {_RESUME}")
        _discard_output()
        sys.exit(WRONG_INPUT)
    if isinstance(error, MemoryError):
        _print_error(f"Out of memory; try a lower --batch-tokens or --limit, or a smaller model. {_RESUME}")
        sys.exit(WRONG_INPUT)
    if isinstance(error, UnicodeEncodeError):
        _print_error(
            "A file name or a text contains bytes that are not UTF-8 and cannot be written; rename or correct it."
        )
        sys.exit(WRONG_INPUT)
    first, *_ = [*str(error).strip().splitlines(), ""]
    _print_error(
        f"Internal error in Tiltmeter: {type(error).__name__}{f' ({first[:200]})' if first else ''}. {_RESUME} "
        f"{_write_traceback(error)} Please report this error with its traceback."
    )
    sys.exit(FAULT)


def _write_traceback(error: BaseException) -> str:
    """Write the traceback to a temporary file, and return a sentence that names the file."""
    lines = [f"{datetime.now(UTC).isoformat(timespec='seconds')} tiltmeter {' '.join(sys.argv[1:])}\n"]
    lines += traceback.format_exception(error)
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="tiltmeter-fault-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
        ) as file:
            file.writelines(map(redact_secrets, lines))
    except OSError:
        return "The traceback could not be written to a file; --debug prints it."
    return f"The traceback is in {Path(file.name)}."


def _print_error(message: str) -> None:
    from rich.text import Text

    # Names and texts may contain lone surrogates, which cannot be encoded.
    printable = redact_secrets(message).encode("utf-8", "backslashreplace").decode()
    with suppress(OSError):
        create_plain_console(stderr=True).print(Text.assemble(("tiltmeter: ", "bold red"), printable), soft_wrap=True)


def _discard_output() -> None:
    """If standard output cannot be written, discard its buffer, so that Python does not fail at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        discard_output(sys.stdout)


def _raise_stop(number: int, _frame: FrameType | None) -> None:
    raise StopSignal(number)


def _resend_signal(unraisable: "sys.UnraisableHookArgs") -> None:
    """Send a signal again if it arrived in a callback or a `__del__`, where Python ignores exceptions."""
    if isinstance(unraisable.exc_value, StopSignal | KeyboardInterrupt):
        number = signal.SIGINT if isinstance(unraisable.exc_value, KeyboardInterrupt) else signal.SIGTERM
        # The signal is sent with a delay, because it would be ignored again if it were sent at once.
        timer = threading.Timer(0.05, os.kill, (os.getpid(), number))
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(unraisable)
