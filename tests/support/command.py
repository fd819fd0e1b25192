"""Run the command line in this process."""

import sys
from typing import Protocol

import pytest

from tiltmeter.cli import main


class Run(Protocol):
    """A function that runs `tiltmeter` and returns its output, or its message for another exit code."""

    def __call__(self, *words: str, code: int = 0) -> str: ...


def command(monkeypatch: pytest.MonkeyPatch, *words: str, columns: int = 1000) -> int:
    """Return the exit code of `tiltmeter` with these arguments, in a terminal wide enough for all lines."""
    monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)
