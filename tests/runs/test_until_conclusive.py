"""Runs that measure growing samples until all verdicts are settled."""

from pathlib import Path

import pytest

from tests.support.messages import assert_mentions
from tiltmeter.runs import sequential_run
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.result import Result
from tiltmeter.runs.sequential_run import find_open_rows

ON = "starter-pairs:en"
# With such a margin, a model with random weights soon has the verdict "no bias".
WIDE = {"CPS": 45.0}


@pytest.fixture(autouse=True)
def _small_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequential_run, "FIRST_LOOK", 5)


def test_a_run_stops_when_the_verdict_is_settled(causal: str, tmp_path: Path) -> None:
    result = evaluate(causal, ON, margins=WIDE, until_conclusive=True, out=tmp_path / "run")
    (look,) = result.manifest.looks
    assert look.items < 40
    assert look.earlier == (5, 10, 20)[: (5, 10, 20).index(look.items)]
    assert find_open_rows(result.records) == []
    assert_mentions(result.manifest.notes[0], f"after {look.items} of 40 items", "settled")
    # One look fewer was not enough, and the numbers are those of an ordinary run on the same items.
    before = evaluate(causal, ON, margins=WIDE, limit=look.earlier[-1])
    assert find_open_rows(before.records)
    plain = evaluate(causal, ON, margins=WIDE, limit=look.items)
    assert plain.records == result.records == Result.load(tmp_path / "run").records


def test_the_same_command_continues_with_the_same_looks(causal: str) -> None:
    first = evaluate(causal, ON, margins=WIDE, until_conclusive=True)
    again = evaluate(causal, ON, margins=WIDE, until_conclusive=True)
    assert again.records == first.records
    assert again.manifest.looks == first.manifest.looks


def test_open_verdicts_after_all_items_are_named(causal: str) -> None:
    result = evaluate(causal, ON, until_conclusive=True, margins={"CPS": 1.0}, limit=10)
    assert result.manifest.data[0].items == 10
    assert_mentions(result.manifest.notes[0], "All 10 items", "open", "starter-pairs/all:en")
