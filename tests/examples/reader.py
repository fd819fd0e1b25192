"""A reader of the docs, who runs the commands and Python blocks of a page in order."""

import contextlib
import glob
import io
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from tests.examples.others import STEPS_BEFORE
from tests.examples.readers_folder import LIMIT
from tiltmeter.cli import main

# The maximum number of items for `gest theme` and `gest validity`, which need more than LIMIT.
GEST_LIMIT = 60
# Exit codes that are not failures: `check` exits with 1 if a rule fails.
_CODES = {"check": (0, 1)}


class Reader:
    """A reader in a folder; `server` replaces http://localhost:8000/v1 of the docs."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        self.server = server

    def type(self, line: str) -> str | None:
        """Run a command with few items, and return its failure; None if it succeeds."""
        words = self._words(line)
        code, printed = self._run([*words, *_smaller(words)])
        return None if code in _CODES.get(words[0], (0,)) else f"{line}\n  ended with {code}: {printed}"

    def follow(self, line: str) -> list[str]:
        """Run a command after the steps before it, and return its failures."""
        for step in STEPS_BEFORE.get(line, ()):
            step(self)
        return [problem for problem in (self.type(line),) if problem]

    def execute(self, block: str) -> str | None:
        """Run a Python block with few items in `tiltmeter.evaluate`, and return its failure; None if it succeeds."""
        evaluate = tiltmeter.evaluate

        def evaluate_few(*arguments: Any, **options: Any) -> tiltmeter.Result:
            return evaluate(*arguments, **{"limit": LIMIT, **options})

        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
            patch.setattr(tiltmeter, "evaluate", evaluate_few)
            try:
                exec(compile(block, "block", "exec"), {"__name__": "__main__"})
            except Exception as error:
                return f"{block}\n  raised {error!r}"
        return None

    def _words(self, line: str) -> list[str]:
        line = line.replace("http://localhost:8000/v1", self.server).partition(" > ")[0]
        line = line.replace(" /shared/", f" {self.folder}/shared/")
        return [
            path
            for word in shlex.split(line)[1:]
            for path in (sorted(glob.glob(word)) if "*" in word else []) or [word]  # noqa: PTH207 - like a shell
        ]

    def _run(self, words: list[str]) -> tuple[Any, str]:
        printed = io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            patch.setattr(sys, "argv", ["tiltmeter", *words])
            with pytest.raises(SystemExit) as ended:
                main()
        return ended.value.code or 0, printed.getvalue()


def _smaller(words: list[str]) -> list[str]:
    """Return options that make a command fast; a later `--limit` overrides an earlier one."""
    if words[0] == "run":
        limit = GEST_LIMIT if {"runs/gest", "runs/both"} & {*words} else LIMIT
        return ["--limit", str(limit), *(["--no-report"] if {"--out", "-o"} & {*words} else [])]
    if words[0] == "sensitivity" or (words[:2] == ["make", "new"] and "--from-scratch" not in words):
        return ["--limit", str(LIMIT)]
    if words[:2] == ["train", "next-sentence"]:
        return ["--passes", "1", "--cpu"]
    return []
