"""Fixtures of the reproduction tests: a mirror, and changed printed numbers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tiltmeter.cli import app
from tiltmeter.papers import reproduction
from tiltmeter.papers.printed_numbers import Paper, PrintedNumber, read_printed_numbers

Command = Callable[..., Result]


@pytest.fixture
def command(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`tiltmeter reproduce` on the mirror."""
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["reproduce", *arguments], catch_exceptions=False, env={"COLUMNS": "120"})

    return run


@pytest.fixture
def misprint(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Change the printed numbers in the cells that `where` selects."""

    def change(text: str, *, table: str, kind: str = "value", **where: str) -> None:
        def changed(number: PrintedNumber) -> PrintedNumber:
            matches = number.table == table and number.kind == kind and where.items() <= dict(number.cell).items()
            return replace(number, text=text) if matches else number

        def altered(paper: Paper) -> list[PrintedNumber]:
            numbers = [changed(number) for number in read_printed_numbers(paper)]
            assert sum(new != old for new, old in zip(numbers, read_printed_numbers(paper), strict=True)) == 1
            return numbers

        monkeypatch.setattr(reproduction, "read_printed_numbers", altered)

    return change
