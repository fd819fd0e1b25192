"""Runs whose questions are built, answered and scored in several chunks."""

import gc
import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from perf.run_memory import write_items
from tests.runs.chosen import association_file, gest_file, pairs_file, questions_file
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks import get_benchmark
from tiltmeter.datasets import load
from tiltmeter.errors import ModelError
from tiltmeter.forms.gendered_pairs import GenderedPairItem
from tiltmeter.models.model_opener import use_model
from tiltmeter.models.model_protocol import Model
from tiltmeter.options import ModelOptions
from tiltmeter.progress.progress import Progress
from tiltmeter.questions import Question
from tiltmeter.runs import portion_blocks
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.interim_values import InterimValue


@pytest.fixture
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portion_blocks, "BLOCK_ITEMS", 3)
    monkeypatch.setattr(portion_blocks, "CHUNK_SIZE", 600)


def watched(reports: dict[str, list[Progress]]) -> Any:
    return lambda label: nullcontext(reports.setdefault(label, []).append)


def run(model: str, items: list[str], out: Path, **options: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
    result = evaluate(model, items, device="cpu", out=out, **options)
    manifest = json.loads((out / "manifest.json").read_text())
    return result.scores, {name: manifest[name] for name in ("skipped", "flagged", "asked", "refused", "notes")}


@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_chunks_change_only_rounding(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = request.getfixturevalue(kind)
    files = [association_file(tmp_path, 20), pairs_file(tmp_path, 20), gest_file(tmp_path, 20), "starter:en"]
    files += [questions_file(tmp_path, 20)] if kind == "causal" else []
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "one"))
    scores, manifest = run(model, files, tmp_path / "whole", protocol="published")
    request.getfixturevalue("_small_chunks")
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "two"))
    reports: dict[str, list[Progress]] = {}
    divided, other = run(model, files, tmp_path / "divided", watch=watched(reports))
    assert sum(map(len, reports.values())) > 20
    for progress in reports.values():
        assert progress[-1].done == progress[-1].total
        assert [one.done for one in progress] == sorted(one.done for one in progress)
    assert other == manifest
    pd.testing.assert_frame_equal(divided.drop(columns="score"), scores.drop(columns="score"))
    assert divided["score"].to_numpy() == pytest.approx(scores["score"].to_numpy(), rel=1e-5, abs=1e-6)


@pytest.mark.usefixtures("_small_chunks")
def test_a_resumed_run_writes_the_same_bytes(masked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [pairs_file(tmp_path, 20)]
    reports: list[Progress] = []

    def stop(progress: Progress) -> None:
        reports.append(progress)
        if progress.done > 12:
            raise KeyboardInterrupt

    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "stopped"))
    with pytest.raises(KeyboardInterrupt):
        evaluate(masked, items, device="cpu", watch=lambda _label: nullcontext(stop))
    assert reports[-1].done < (reports[-1].total or 0)
    run(masked, items, tmp_path / "resumed")
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "whole"))
    run(masked, items, tmp_path / "uninterrupted")
    resumed, whole = ((tmp_path / name / "scores.parquet").read_bytes() for name in ("resumed", "uninterrupted"))
    assert resumed == whole


@pytest.mark.usefixtures("_small_chunks")
def test_interim_values_include_all_finished_chunks(masked: str, tmp_path: Path) -> None:
    seen: list[list[InterimValue]] = []
    evaluate(masked, pairs_file(tmp_path, 20), device="cpu", so_far=lambda values: seen.append(values()))
    counts = [values[0].items for values in seen if values]
    assert counts == sorted(counts)
    assert counts[-1] == 20
    assert len(set(counts)) > 3


def test_a_portion_is_rejected_before_any_question_is_answered(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One item, in the last chunk, is too long."""
    monkeypatch.setattr(portion_blocks, "BLOCK_ITEMS", 3)
    monkeypatch.setattr(portion_blocks, "CHUNK_SIZE", 500)
    path = Path(association_file(tmp_path, 20))
    lines = path.read_text().splitlines()
    last = json.loads(lines[-1])
    path.write_text("\n".join([*lines[:-1], json.dumps({**last, "context": last["context"] + " And so on." * 60})]))
    reports: dict[str, list[Progress]] = {}
    with raises_mentioning(ModelError, "i-19", "at most 64"):
        evaluate(causal, str(path), device="cpu", watch=watched(reports))
    assert reports == {}


@pytest.mark.parametrize(
    ("name", "part", "kind"),
    [
        ("starter", "intrasentence", "masked"),
        ("starter", "intersentence", "causal"),
        ("starter-pairs", "all", "masked"),
        ("starter-gest", "template-3", "causal"),
    ],
)
def test_benchmarks_that_ask_item_by_item_do(name: str, part: str, kind: str, request: pytest.FixtureRequest) -> None:
    items = load(name, part if name == "starter" else None, "en")[:12]
    benchmark = get_benchmark({"starter": "association", "starter-pairs": "pairs", "starter-gest": "gest"}[name])
    assert benchmark.item_by_item(items)
    with use_model(request.getfixturevalue(kind), ModelOptions(device="cpu")) as model:
        assert isinstance(model, Model)
        whole = benchmark.ask(part, items, model.text, protocol="published")
        parts = [benchmark.ask(part, items[at : at + 5], model.text, protocol="published") for at in (0, 5, 10)]
    assert {(one.kind, one.protocol) for one in parts} == {(whole.kind, whole.protocol)}
    assert [trial.questions for one in parts for trial in one.trials] == [trial.questions for trial in whole.trials]
    assert [skip for one in parts for skip in one.skipped] == whole.skipped


def test_items_that_depend_on_each_other_are_asked_at_once() -> None:
    pair = GenderedPairItem("a", "sk", 1, "Bol som doma.", "Bola som doma.")
    assert not get_benchmark("gendered-pairs").item_by_item([pair, pair])
    blanks: list[Any] = load("starter", "intrasentence", "en")[:2]
    assert not get_benchmark("association").item_by_item([replace(blanks[0], whole=True), blanks[1]])


def test_only_the_questions_of_a_chunk_are_in_memory(
    masked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portion_blocks, "BLOCK_ITEMS", 8)
    monkeypatch.setattr(portion_blocks, "CHUNK_SIZE", 30_000)

    def most_questions(items: int) -> int:
        """Return the largest number of questions in memory at the beginning or end of a chunk."""
        counts = []

        def count(progress: Progress) -> None:
            if progress.padding == 0.0:
                counts.append(sum(type(one) is Question for one in gc.get_objects()))

        path = write_items("pairs", items, tmp_path / f"{items}.jsonl")
        evaluate(masked, path, device="cpu", watch=lambda _label: nullcontext(count))
        return max(counts)

    few, many = most_questions(48), most_questions(120)
    assert few > 500
    assert many < 1.2 * few
