"""Overlap of items with tuning texts: exact and near duplicates, templates, words, and the formats of files."""

from pathlib import Path

import pandas as pd
import pytest

from tests.comparing.test_change import BIASED, lean_scores
from tests.runs.made import run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.change_assessment import assess_change
from tiltmeter.comparing.tuning_overlap import TuningTexts, find_overlaps, read_tuning_texts
from tiltmeter.errors import DataError, UsageError
from tiltmeter.runs.result import Result

TUNED = TuningTexts(
    [
        "The farmer feeds the horses every morning. Then he rests.",
        "Most of my neighbours who play the violin are very patient people.",
        "我妹妹喜欢修理旧收音机。",
    ]
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The farmer feeds the horses every morning.", "exact"),
        ("the FARMER feeds the horses, every morning", "exact"),
        ("The farmer feeds the horses", "exact"),
        ("My neighbours who play the violin are very patient people", "exact"),
        ("Most of my neighbours who play the piano are very patient people.", "near"),
        ("The farmer feeds one lazy brown dog every morning.", "template"),
        ("我妹妹喜欢修理旧自行车。", "template"),
        ("The teacher reads a book in the evening.", None),
        ("The farmer", None),
        ("", None),
    ],
)
def test_a_text_is_compared_with_tuning_texts(text: str, kind: str | None) -> None:
    assert TUNED.classify(text) == kind


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "My uncle knits.\nHe sings well.\n"),
        ("a.jsonl", '{"messages": [{"role": "user", "content": "My uncle knits."}]}\n\n{"text": "He sings well."}\n'),
        ("a.json", '["My uncle knits.", {"x": ["He sings well."]}]'),
        ("a.csv", 'id,text\n1,"My uncle\nknits."\n2,He sings well.\n'),
        ("a.tsv", "1\tMy uncle knits.\n2\tHe sings well.\n"),
    ],
)
def test_formats_of_files(name: str, content: str, tmp_path: Path) -> None:
    tuned = read_tuning_texts(write(tmp_path / name, content))
    assert [tuned.classify(text) for text in ("My uncle knits", "He sings well", "She sings here")] == [
        "exact",
        "exact",
        None,
    ]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with raises_mentioning(DataError, "a.jsonl, line 2"):
        read_tuning_texts(write(tmp_path / "a.jsonl", '{"a": "b"}\n{oops\n'))
    with raises_mentioning(DataError, "a.csv, line 1"):
        read_tuning_texts(write(tmp_path / "a.csv", 'a,"b" c\n'))
    with raises_mentioning(UsageError, "a.txt", "no text"):
        read_tuning_texts(write(tmp_path / "a.txt", "\n \n"))
    with raises_mentioning(DataError, "none.txt"):
        read_tuning_texts(tmp_path / "none.txt")


def with_texts(result: Result, count: int = 3) -> Result:
    """Return the run with texts; `count` items of each part have a text of `TUNED`."""
    rows = []
    for (part, item), _ in result.scores.groupby(["part", "item"]):
        number = int(item.rpartition("-")[2])
        first = "The farmer feeds the horses every morning." if number < count else f"Sentence {item} about a gardener."
        texts = [{"role": "stereotype", "text": first}, {"role": "anti-stereotype", "text": f"Other {item} rested."}]
        row = {"benchmark": "stereoset", "part": part, "language": "en", "item": item, "form": "association"}
        rows.append({**row, "context": "", "texts": texts})
    return Result(result.scores, result.records, result.manifest, texts=pd.DataFrame(rows))


def test_overlaps_are_counted_and_the_target_is_measured_without_them() -> None:
    before, after = with_texts(BIASED), with_texts(run(lean_scores(52.0)))
    change = assess_change([("a", before)], [("b", after)], tuned=TUNED)
    (overlap,) = change.overlaps
    assert (overlap.checked, overlap.exact, overlap.near, overlap.template) == (1200, 6, 0, 0)
    assert {"farmer", "horses"} <= TUNED.words
    assert overlap.known_words >= 5
    assert_mentions(overlap.sentence, "Warning", "6 of the 1,200", "stereoset:en")
    (row,) = change.without_overlap
    assert row.difference.contrast.n == 1200 - 6
    assert change.to_dict()["overlaps"][0]["items"] == sorted(overlap.items)


def test_without_texts_the_overlap_is_unknown() -> None:
    overlaps, notes = find_overlaps(TUNED, [BIASED])
    assert overlaps == []
    assert_mentions(notes[0], "unknown", "stereoset:en")
    none = find_overlaps(TuningTexts(["Nothing like the items here."]), [with_texts(BIASED)])[0][0]
    assert not none.items
    assert_mentions(none.sentence, "None of the 1,200 items")
