"""Chat templates of local models, rendered in a separate process with limits of memory and time."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.models.template_worker import FIXED_DAY

# Maximum processor time for one message in seconds; most templates take about a millisecond.
SECONDS = 10.0
# The number of the signal that ends a process at its limit of processor time; 0 on Windows, which has no such signal.
_OUT_OF_TIME = int(getattr(signal, "SIGXCPU", 0))
# The worker process gets the import paths of this process.
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1])\n"
_START += "from tiltmeter.models.template_worker import main; main(float(sys.argv[2]))"
_DATE = FIXED_DAY.strftime("%d %b %Y")

Messages = Sequence[Mapping[str, str]]


@dataclass
class _Worker:
    """Runs the process that renders chat templates; restarts it if a limit of memory or time has ended it."""

    _process: subprocess.Popen[str] | None = None
    _owner: int = 0
    _lock: Lock = field(default_factory=Lock)

    def get_running_process(self) -> subprocess.Popen[str]:
        """Return the running process; start it if it has ended, or if it belongs to the parent of a forked process."""
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            path = json.dumps([entry or str(Path.cwd()) for entry in sys.path])
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, path, str(SECONDS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
            self._owner = os.getpid()
        return self._process

    def send_request(self, request: Mapping[str, Any]) -> dict[str, str]:
        """Return the reply to a request; if a limit ended the process, the reply contains an error."""
        with self._lock:
            process = self.get_running_process()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except OSError:
                line = ""
            if line:
                reply: dict[str, str] = json.loads(line)
                return reply
            self._process = None
            process.stdout.close()
            code = process.wait()
            if code == -_OUT_OF_TIME:
                return {"error": f"rendering one message takes more than {SECONDS:g} seconds"}
            return {"error": f"the process that renders the template ended with exit code {code}"}


_WORKER = _Worker()


@dataclass(frozen=True)
class ChatTemplate:
    """The chat template of a tokenizer; `name` is the model's name in error messages.

    `thinking` turns on the thinking of models whose template has the variable `enable_thinking`.
    """

    name: str
    tokenizer: Any
    thinking: bool = False

    @property
    def digest(self) -> str:
        """The SHA-256 of everything that a rendered conversation depends on, except its messages."""
        parts = [self._template, self._variables, self._special_tokens]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def render(self, messages: Messages, *, add_generation_prompt: bool = False) -> str:
        """Return a conversation as text; raise a ModelError if the template fails or exceeds a limit."""
        variables = {**self._special_tokens, **self._variables, "add_generation_prompt": add_generation_prompt}
        reply = _WORKER.send_request({"template": self._template, "messages": messages, "variables": variables})
        if "error" in reply:
            raise self._build_template_error(reply["error"])
        return reply["text"]

    @property
    def _variables(self) -> dict[str, Any]:
        return {"enable_thinking": self.thinking, "date_string": _DATE}

    @property
    def _special_tokens(self) -> dict[str, Any]:
        """A dictionary from the names of the special tokens to their texts, which the template can use."""
        tokens = self.tokenizer.special_tokens_map.items()
        return {name: [*map(str, value)] if isinstance(value, list | tuple) else str(value) for name, value in tokens}

    @property
    def _template(self) -> str:
        try:
            template = self.tokenizer.get_chat_template()
        except (ValueError, TypeError, AttributeError) as error:
            raise self._build_template_error(str(error).partition("!")[0]) from error
        if not isinstance(template, str):
            raise self._build_template_error(f"the template is a {type(template).__name__}, not a text")
        return template

    def _build_template_error(self, reason: str) -> ModelError:
        return ModelError(
            f"The chat template of {self.name} cannot be used: {reason.rstrip('.')}. Correct the template in "
            "tokenizer_config.json or chat_template.jinja, or measure the model without its template."
        )


def start_template_worker() -> None:
    """Start the process that renders chat templates before it is needed, because its start takes a second."""
    _WORKER.get_running_process()
