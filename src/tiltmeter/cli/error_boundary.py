"""How a command ends: an error as one sentence, a stop by the user, and what nobody expected."""

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

# Exit codes: what the user can mend, what is a fault of Tiltmeter, and 128 + the number of the signal.
WRONG_INPUT, FAULT = 2, 70
_KEPT = (
    "What is stored so far is kept, and a finished run stays as it was; the same command goes on from what is stored."
)


class StopSignal(BaseException):
    """The user or the system asks the command to end; `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class TyperWrapped(BaseException):
    """An exception that Typer would turn into an exit code without a word; `cause` is the exception."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(cause)
        self.cause = cause


@contextmanager
def report_errors(*, debug: bool) -> Iterator[None]:
    """End the process with a sentence for whatever is raised; with `debug`, show the traceback as well."""
    before, unraisable = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    with suppress(ValueError):  # only the main thread can do this
        signal.signal(signal.SIGTERM, _raise_stop)
    sys.unraisablehook = _repeat_stop
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
            signal.signal(signal.SIGTERM, before)
        sys.unraisablehook = unraisable


def _flush_output(ended: SystemExit) -> None:
    """Write what is still to be printed; a full disk behind standard output is an error, too."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _print_error(_describe_output_error(error))
        _discard_output()
        sys.exit(ended.code or WRONG_INPUT)


def _describe_output_error(error: OSError) -> str:
    """The sentence on a standard output that cannot be written."""
    return f"The output cannot be written: {error.strerror}; write it to a file on a disk with room, or to a pipe."


def _exit_with_error(error: BaseException, *, debug: bool) -> None:
    if debug:
        traceback.print_exception(error)
    if isinstance(error, StopSignal | KeyboardInterrupt):
        number = error.number if isinstance(error, StopSignal) else signal.SIGINT
        _print_error(f"Stopped. {_KEPT}")
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
        about = f"{error.filename}: " if error.filename is not None else ""
        _print_error(f"{about}{error.strerror}; check the path, its permissions and the space on its disk. {_KEPT}")
        _discard_output()
        sys.exit(WRONG_INPUT)
    if isinstance(error, MemoryError):
        _print_error(
            f"The memory of this machine does not suffice; try --batch-tokens, --limit or a smaller model. {_KEPT}"
        )
        sys.exit(WRONG_INPUT)
    if isinstance(error, UnicodeEncodeError):
        _print_error(
            "A name or text holds bytes that are no UTF-8, and cannot be printed or written; rename or mend it."
        )
        sys.exit(WRONG_INPUT)
    first, *_ = [*str(error).strip().splitlines(), ""]
    _print_error(
        f"A fault of Tiltmeter, not of yours: {type(error).__name__}{f' ({first[:200]})' if first else ''}. {_KEPT} "
        f"{_write_traceback(error)} --debug shows them; please report it with them."
    )
    sys.exit(FAULT)


def _write_traceback(error: BaseException) -> str:
    """Write the traceback to a file; a sentence on where it is."""
    lines = [f"{datetime.now(UTC).isoformat(timespec='seconds')} tiltmeter {' '.join(sys.argv[1:])}\n"]
    lines += traceback.format_exception(error)
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="tiltmeter-fault-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
        ) as file:
            file.writelines(map(redact_secrets, lines))
    except OSError:
        return "The details could not be written to a file."
    return f"The details are in {Path(file.name)}."


def _print_error(sentence: str) -> None:
    # What is half a character, in a name or a text, cannot be printed.
    from rich.text import Text

    printable = redact_secrets(sentence).encode("utf-8", "backslashreplace").decode()
    with suppress(OSError):
        create_plain_console(stderr=True).print(Text.assemble(("tiltmeter: ", "bold red"), printable), soft_wrap=True)


def _discard_output() -> None:
    """Keep Python from trying once more to write what could not be written, when it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        discard_output(sys.stdout)


def _raise_stop(number: int, _frame: FrameType | None) -> None:
    raise StopSignal(number)


def _repeat_stop(unraisable: "sys.UnraisableHookArgs") -> None:
    """Repeat a stop that came while Python could not pass it on, such as in a callback or a `__del__`."""
    if isinstance(unraisable.exc_value, StopSignal | KeyboardInterrupt):
        number = signal.SIGINT if isinstance(unraisable.exc_value, KeyboardInterrupt) else signal.SIGTERM
        again = threading.Timer(0.05, os.kill, (os.getpid(), number))  # here it would be ignored once more
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)
