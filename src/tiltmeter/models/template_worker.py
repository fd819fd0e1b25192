"""A process that renders chat templates, with limits of memory, time and output.

A chat template is a program that comes with a model. It can create 10 billion characters in one operation, or loop for
ever, and a thread cannot be stopped from outside. Therefore `tiltmeter.models.chat_template` renders templates in this
process, and starts a new process after a limit has ended the process. The process does not import torch. Requests and
replies are lines of JSON.
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
except ImportError:  # on Windows, this module does not exist
    resource = None  # type: ignore[assignment]

# The date that templates print; it is fixed, because results must not depend on the day of the run.
FIXED_DAY = datetime(2024, 7, 26)
# Maximum memory of a template in bytes, in addition to the interpreter's memory; maximum characters of a rendered text.
MAX_MEMORY = 1 << 30
MAX_CHARACTERS = 4_000_000
# The name of Jinja's class of errors that a template raises deliberately.
_RAISED = "TemplateError"


class _FixedClock(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> "_FixedClock":
        return cls(FIXED_DAY.year, FIXED_DAY.month, FIXED_DAY.day, tzinfo=tz)


def main(seconds: float) -> None:
    """Read requests from the standard input and print replies; `seconds` is the processor time for each request."""
    from transformers.utils import chat_template_utils

    chat_template_utils.datetime = _FixedClock  # type: ignore[attr-defined]
    _limit_memory()
    for line in sys.stdin:
        _limit_time(seconds)
        print(json.dumps(_answer_request(chat_template_utils, json.loads(line))), flush=True)


def _answer_request(library: ModuleType, request: dict[str, Any]) -> dict[str, str]:
    # The random generator gets a fixed seed, because Jinja has random functions.
    random.seed(0)
    try:
        rendered, _ = library.render_jinja_template(
            [request["messages"]], chat_template=request["template"], **request["variables"]
        )
        (text,) = rendered
        if len(text) > MAX_CHARACTERS:
            return {"error": f"it turns one message into {len(text):,} characters, more than {MAX_CHARACTERS:,}"}
        text.encode()  # raises an error if the text contains half of a surrogate pair
    except MemoryError:
        return {"error": f"it needs more than {MAX_MEMORY >> 20:,} MB of memory for one message"}
    except Exception as error:  # a template can raise any class of error
        parts = ["" if type(error).__name__ == _RAISED else type(error).__name__, str(error).strip().partition("\n")[0]]
        return {"error": ": ".join(filter(None, parts))[:300]}
    return {"text": text}


def _limit_memory() -> None:
    """Limit the memory of this process, if the operating system can: above the limit, a MemoryError is raised."""
    with suppress(OSError, ValueError, AttributeError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + MAX_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def _limit_time(seconds: float) -> None:
    """Let the operating system end this process after `seconds` more of processor time."""
    with suppress(OSError, ValueError, AttributeError):
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
