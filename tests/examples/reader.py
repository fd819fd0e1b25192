"""Somebody who follows the docs: types the commands of a page, and runs its Python blocks, one after the other."""

import contextlib
import glob
import io
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from tests.examples.others import MEANWHILE
from tests.examples.readers_folder import LIMIT
from tiltmeter.cli import main

# The largest number of items where LIMIT is too few: `gest theme` and `gest validity` need more.
GEST_LIMIT = 60
# Exit codes that are no failure: 1 of `check` says that a rule does not hold.
_CODES = {"check": (0, 1)}


class Reader:
    """A reader in a folder; `server` is the address of what the docs have at http://localhost:8000/v1."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        self.server = server

    def type(self, line: str) -> str | None:
        """Run a command with few items; returns what went wrong."""
        words = self._words(line)
        code, printed = self._run([*words, *_smaller(words)])
        return None if code in _CODES.get(words[0], (0,)) else f"{line}\n  ended with {code}: {printed}"

    def follow(self, line: str) -> list[str]:
        """Run a command after what others do before it; returns what went wrong."""
        for step in MEANWHILE.get(line, ()):
            step(self)
        return [found for found in (self.type(line),) if found]

    def execute(self, block: str) -> str | None:
        """Run a Python block, in which `tiltmeter.evaluate` asks about few items; returns what went wrong."""
        evaluate = tiltmeter.evaluate

        def few(*arguments: Any, **options: Any) -> tiltmeter.Result:
            return evaluate(*arguments, **{"limit": LIMIT, **options})

        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
            patch.setattr(tiltmeter, "evaluate", few)
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
            for path in (sorted(glob.glob(word)) if "*" in word else [word])  # noqa: PTH207 - as a shell does
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
    """Options that make a command quick; a later `--limit` replaces an earlier one."""
    if words[0] == "run":
        limit = GEST_LIMIT if {"runs/gest", "runs/both"} & {*words} else LIMIT
        return ["--limit", str(limit), *(["--no-report"] if {"--out", "-o"} & {*words} else [])]
    if words[0] == "sensitivity" or (words[:2] == ["make", "new"] and "--from-scratch" not in words):
        return ["--limit", str(LIMIT)]
    if words[:2] == ["train", "next-sentence"]:
        return ["--passes", "1", "--cpu"]
    return []
