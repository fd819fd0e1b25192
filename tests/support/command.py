"""Run the command line in this process."""

import sys
from typing import Protocol

import pytest

from tiltmeter.cli import main


class Run(Protocol):
    """What `tiltmeter` prints with these arguments: its output, or with another exit code its message."""

    def __call__(self, *words: str, code: int = 0) -> str: ...


def command(monkeypatch: pytest.MonkeyPatch, *words: str, columns: int = 1000) -> int:
    """The exit code of `tiltmeter` with these arguments, on a terminal so wide that no line is wrapped."""
    monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)
