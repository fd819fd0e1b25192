"""Run the command line in this process."""

import sys

import pytest

from tiltmeter.cli import main


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code of `tiltmeter` with these arguments, on a terminal so wide that no line is wrapped."""
    monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)
