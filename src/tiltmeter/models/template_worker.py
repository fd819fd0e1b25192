"""A process that renders chat templates, within limits of memory, time and output.

A chat template is a program that comes with a model. It can ask for 10 billion characters in one operation, or loop for
ever, and neither can be stopped inside a thread. `tiltmeter.models.chat_template` starts this process and replaces
it when a limit has ended it. It imports no torch. Requests and replies are lines of JSON.
"""

import json
import random
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

# Templates that print the day would make results depend on it.
FIXED_DAY = datetime(2024, 7, 26)
# Bytes that a template may use besides those of the interpreter, and characters of a rendered message.
MEMORY = 1 << 30
LONGEST_TEXT = 4_000_000
# The error that a template raises itself.
_RAISED = "TemplateError"


class _FixedClock(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: Any = None) -> "_FixedClock":
        return cls(FIXED_DAY.year, FIXED_DAY.month, FIXED_DAY.day, tzinfo=tz)


def main(seconds: float) -> None:
    """Answer requests until there are no more; `seconds` of processor time end the process."""
    from transformers.utils import chat_template_utils

    chat_template_utils.datetime = _FixedClock  # type: ignore[attr-defined]
    _limit_memory()
    for line in sys.stdin:
        _limit_time(seconds)
        print(json.dumps(_answer_request(chat_template_utils, json.loads(line))), flush=True)


def _answer_request(library: ModuleType, request: dict[str, Any]) -> dict[str, str]:
    """The rendered text, or the reason why there is none."""
    # Jinja has functions that draw at random.
    random.seed(0)
    try:
        rendered, _ = library.render_jinja_template(
            [request["messages"]], chat_template=request["template"], **request["variables"]
        )
        (text,) = rendered
        if len(text) > LONGEST_TEXT:
            return {"error": f"it makes {len(text):,} characters of one message, more than {LONGEST_TEXT:,}"}
        text.encode()  # half of a surrogate pair is no text
    except MemoryError:
        return {"error": f"it needs more than {MEMORY >> 20:,} MB of memory for one message"}
    except Exception as error:  # the template is a program of its own
        parts = ["" if type(error).__name__ == _RAISED else type(error).__name__, str(error).strip().partition("\n")[0]]
        return {"error": ": ".join(filter(None, parts))[:300]}
    return {"text": text}


def _limit_memory() -> None:
    """End operations that need too much memory with a MemoryError, where the system can do so."""
    with suppress(OSError, ValueError, AttributeError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def _limit_time(seconds: float) -> None:
    """End the process after this much processor time from now on."""
    with suppress(OSError, ValueError, AttributeError):
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
