"""Items that are too long for a model."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.models.chat_served import MadeChat, biased
from tests.runs.chosen import pairs_file
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.benchmark import PartTrials, Trial
from tiltmeter.errors import ModelError
from tiltmeter.questions import Question, SamplingOptions
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.long_items import find_excess_lengths, skip_long_items
from tiltmeter.runs.portions import Portion


class Item:
    def __init__(self, name: str) -> None:
        self.id = name


def asked_of(items: int, long: int) -> tuple[PartTrials, Portion]:
    """Return a portion in which the first `long` items have a question that is too long."""
    made = [Item(str(number)) for number in range(items)]
    trials = [
        Trial(item, (Question((1,) * 10, ()), Question((1,) * (11 if i < long else 10), ())), list)  # type: ignore[arg-type]
        for i, item in enumerate(made)
    ]
    return PartTrials("causal", "published", trials), Portion("set", "pairs", "all", "en", made, {})


@pytest.mark.parametrize(("items", "long"), [(100, 1), (199, 1), (200, 2)])
def test_up_to_one_percent_are_skipped(items: int, long: int) -> None:
    asked, portion = asked_of(items, long)
    skipped = skip_long_items(find_excess_lengths(asked, 10), 10, portion, "a-model")
    assert [skip.item for skip in skipped] == [str(number) for number in range(long)]


@pytest.mark.parametrize(("items", "long", "every_item"), [(99, 1, False), (199, 2, False), (1000, 1, True)])
def test_more_stop_the_run(items: int, long: int, every_item: bool) -> None:
    asked, portion = asked_of(items, long)
    with raises_mentioning(ModelError, "11 tokens", "a-model", "at most 10"):
        skip_long_items(find_excess_lengths(asked, 10), 10, portion, "a-model", every_item=every_item)


@pytest.fixture
def one_long(tmp_path: Path) -> Path:
    """Write a hundred items, one of which is too long."""
    shared: dict[str, Any] = {"part": "intrasentence", "language": "en", "bias_type": "profession"}
    shared["candidates"] = {"stereotype": "gentle", "anti-stereotype": "gruff", "unrelated": "wooden"}
    lines = []
    for number in range(100):
        context = f"Nurse {number} was BLANK." + " And so on." * (40 if number == 7 else 0)
        lines.append(json.dumps({**shared, "id": f"nurse-{number}", "target": f"nurse {number}", "context": context}))
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    return tmp_path / "items.jsonl"


def test_a_run_lists_them(causal: str, one_long: Path, tmp_path: Path) -> None:
    result = evaluate(causal, str(one_long), out=tmp_path / "run")
    assert result.scores["item"].nunique() == 99
    (skip,) = json.loads((tmp_path / "run/manifest.json").read_text())["skipped"]
    assert "64 tokens" in skip["reason"]
    assert skip["item"] == "nurse-7"


def test_every_item_stops_the_run(causal: str, one_long: Path) -> None:
    with raises_mentioning(ModelError, "nurse-7", "at most 64"):
        evaluate(causal, str(one_long), every_item=True)


class ShortChat(MadeChat):
    """A local chat model that reports a maximum message length."""

    def compute_message_limit(self, sampling: SamplingOptions) -> int | None:
        return 500


@pytest.mark.parametrize("long", [1, 2])
def test_messages_to_a_chat_model(long: int, tmp_path: Path) -> None:
    path = Path(pairs_file(tmp_path, 100))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines[:long]:
        line["more"] += " And so on." * 200
    path.write_text("\n".join(map(json.dumps, lines)))
    if long > 1:
        with raises_mentioning(ModelError, "1 more of 100", "at most 500", "lower --max-tokens"):
            evaluate(ShortChat(biased(0.8)), str(path))
        return
    result = evaluate(ShortChat(biased(0.8)), str(path))
    assert [(skip.item, skip.part) for skip in result.manifest.skipped] == [("p-0", "all")]
    assert result.scores["item"].nunique() == 99
