"""Runs on tiny models, end to end: folder, manifest, unsupported parts and errors."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets import load
from tiltmeter.errors import DataError, ModelError, UsageError
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import list_sample_notes

SCORE_COLUMNS = [
    "model",
    "benchmark",
    "part",
    "language",
    "item",
    "candidate",
    "role",
    "score",
    "bias_type",
    "target",
    "stereotype_word",
    "anti_stereotype_word",
    "length_difference",
    "protocol",
]
RECORD_COLUMNS = [
    "model",
    "benchmark",
    "part",
    "language",
    "view",
    "group",
    "measure",
    "value",
    "low",
    "high",
    "n",
    "ideal",
    "protocol",
]


def test_contents_of_a_run_folder(causal: str, tmp_path: Path) -> None:
    result = evaluate(causal, "starter:en,de", limit=5, out=tmp_path / "run")
    files = {"manifest.json", "scores.parquet", "measures.json", "items.parquet"}
    assert {file.name for file in (tmp_path / "run").iterdir()} == files
    scores = pd.read_parquet(tmp_path / "run/scores.parquet")
    assert list(scores.columns) == SCORE_COLUMNS
    assert len(scores) == 2 * 2 * 5 * 3  # languages, parts, items, candidates
    records = json.loads((tmp_path / "run/measures.json").read_text())
    assert set(RECORD_COLUMNS) <= set(records[0])
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["request"]["limit"] == 5
    assert manifest["models"][0]["kind"] == "causal"
    assert [len(portion["files"]) for portion in manifest["data"]] == [1] * 4
    assert manifest["versions"]["torch"]
    again = Result.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.scores, result.scores)
    pd.testing.assert_frame_equal(again.measures, result.measures)


def test_samples_are_reported_with_the_number_of_available_items(causal: str) -> None:
    result = evaluate(causal, ["starter/intrasentence:en", "starter/intersentence:en"], limit=5)
    assert [(entry.part, entry.items) for entry in result.manifest.data] == [
        ("intrasentence", 5),
        ("intersentence", 5),
    ]
    available = [entry.available for entry in result.manifest.data]
    assert available == [len(load("starter", part, "en")) for part in ("intrasentence", "intersentence")]
    assert len(list(list_sample_notes(result.manifest.data))) == 2
    complete = evaluate(causal, "starter/intrasentence:en")
    assert complete.manifest.data[0].available == complete.manifest.data[0].items == available[0]
    assert list(list_sample_notes(complete.manifest.data)) == []


def test_the_manifest_has_how_models_were_asked(causal: str, masked: str) -> None:
    result = evaluate([causal, masked], "starter/intrasentence:en", limit=4, margins={"SS": 3})
    asked = result.manifest.asked
    assert [(entry.model, entry.kind, entry.family, entry.protocol) for entry in asked] == [
        (causal, "causal", "likelihood", "published"),
        (masked, "masked", "likelihood", "published"),
    ]
    assert len({entry.tokenizer for entry in asked}) == 2
    assert {record.model: record.kind for record in result.records} == {causal: "causal", masked: "masked"}
    assert result.manifest.request["margins"] == result.manifest.statistics.margins == {"SS": 3}
    assert all(record.verdict is not None for record in result.records if record.measure == "SS")


def test_a_limit_keeps_the_same_items_in_every_language(causal: str) -> None:
    scores = evaluate(causal, "starter/intrasentence", limit=7).scores
    kept = scores.groupby("language")["item"].agg(frozenset)
    assert len(kept) == 5
    assert len(set(kept)) == 1
    assert len(kept.iloc[0]) == 7


def test_unsupported_parts_are_listed_and_the_others_run(masked: str) -> None:
    result = evaluate(masked, "starter:en", limit=4)
    assert set(result.scores["part"]) == {"intrasentence"}
    (refusal,) = result.manifest.refused
    assert refusal.part == "intersentence"
    assert "no next-sentence head" in refusal.reason
    with raises_mentioning(ModelError, "no next-sentence head"):
        evaluate(masked, "starter/intersentence:en")


def test_several_models_and_benchmarks_in_one_table(causal: str, masked: str) -> None:
    result = evaluate([masked, causal], ["starter/intrasentence:en", "starter/intrasentence:de"], limit=4)
    assert result.scores.groupby(["model", "language"]).size().tolist() == [12] * 4
    assert len(result.manifest.data) == 2


def test_a_jsonl_file_as_benchmark(causal: str, tmp_path: Path) -> None:
    item = {
        "id": "mine-1",
        "part": "intrasentence",
        "language": "en",
        "bias_type": "profession",
        "target": "nurse",
        "context": "The nurse was BLANK.",
        "candidates": {"stereotype": "gentle", "anti-stereotype": "gruff", "unrelated": "wooden"},
    }
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(item) + "\n" + json.dumps({**item, "id": "mine-2"}) + "\n")
    result = evaluate(causal, str(path))
    assert set(result.scores["item"]) == {"mine-1", "mine-2"}
    assert result.manifest.data[0].files.keys() == {"mine.jsonl"}


def test_a_folder_with_another_run_is_not_overwritten(causal: str, tmp_path: Path) -> None:
    evaluate(causal, "starter/intrasentence:en", limit=3, out=tmp_path / "run")
    before = (tmp_path / "run/measures.json").read_bytes()
    with raises_mentioning(UsageError, str(tmp_path / "run"), "--force"):
        evaluate(causal, "starter/intrasentence:en", limit=4, out=tmp_path / "run")
    assert (tmp_path / "run/measures.json").read_bytes() == before
    evaluate(causal, "starter/intrasentence:en", limit=3, out=tmp_path / "run")  # the same run may be written again
    evaluate(causal, "starter/intrasentence:en", limit=4, out=tmp_path / "run", force=True)


def test_an_item_that_is_too_long_is_an_error(causal: str, tmp_path: Path) -> None:
    candidates = {"stereotype": "gentle", "anti-stereotype": "gruff", "unrelated": "wooden"}
    item: dict[str, Any] = {"part": "intrasentence", "language": "en", "bias_type": "profession", "target": "nurse"}
    item |= {"id": "endless", "context": "The nurse was BLANK. " + "very " * 80, "candidates": candidates}
    (tmp_path / "long.jsonl").write_text(json.dumps(item))
    with raises_mentioning(ModelError, "Item endless", "at most 64"):
        evaluate(causal, str(tmp_path / "long.jsonl"))


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (lambda run: (run / "manifest.json").unlink(), UsageError, "not a finished run"),
        (lambda run: (run / "measures.json").write_text("{"), DataError, "cannot be read"),
        (lambda run: (run / "scores.parquet").write_bytes(b"x"), DataError, "cannot be read"),
        (lambda run: (run / "measures.json").write_text('[{"model": "m"}]'), DataError, "measures.json"),
    ],
)
def test_damaged_runs_are_errors(damage: Any, error: Any, message: str, causal: str, tmp_path: Path) -> None:
    evaluate(causal, "starter/intrasentence:en", limit=3, out=tmp_path / "run")
    damage(tmp_path / "run")
    with raises_mentioning(error, message):
        Result.load(tmp_path / "run")


# Waits after some batches if the third argument is "wait".
RUN = """
import sys
from contextlib import nullcontext
from tiltmeter.runs.evaluate import evaluate

def report(progress):
    if sys.argv[3] == "wait" and progress.done > 50:
        print("half way", progress.total > progress.done, flush=True)
        sys.stdin.read()

evaluate(sys.argv[1], "starter:en", out=sys.argv[2], batch_tokens=64, watch=lambda label: nullcontext(report))
"""


@pytest.mark.slow
def test_a_killed_run_resumes_to_identical_scores(causal: str, tmp_path: Path) -> None:
    def run(cache: str, out: str, then: str = "go on") -> subprocess.Popen[str]:
        environment = {**os.environ, "TILTMETER_CACHE": str(tmp_path / cache)}
        words = [sys.executable, "-c", RUN, causal, str(tmp_path / out), then]
        return subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    assert run("complete", "run-complete").wait() == 0
    with run("killed", "run-killed", "wait") as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "half way True\n"
        killed.kill()
    assert not (tmp_path / "run-killed/manifest.json").exists()
    assert run("killed", "run-killed").wait() == 0
    complete, resumed = ((tmp_path / name / "scores.parquet").read_bytes() for name in ("run-complete", "run-killed"))
    assert complete == resumed
