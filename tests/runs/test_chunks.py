"""Runs whose questions are made, answered and scored in several chunks."""

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
from tiltmeter.benchmarks import get_benchmark
from tiltmeter.datasets import load
from tiltmeter.engine.execution import Progress
from tiltmeter.errors import ModelError
from tiltmeter.forms.gendered_pairs import GenderedPairItem
from tiltmeter.models.model_opener import use_model
from tiltmeter.models.model_protocol import Model, ModelOptions
from tiltmeter.questions import Question
from tiltmeter.runs import portion_blocks
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.interim_values import InterimValue


@pytest.fixture
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portion_blocks, "BLOCK_ITEMS", 3)
    monkeypatch.setattr(portion_blocks, "CHUNK_SIZE", 600)


def watched(told: dict[str, list[Progress]]) -> Any:
    return lambda label: nullcontext(told.setdefault(label, []).append)


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
    told: dict[str, list[Progress]] = {}
    divided, other = run(model, files, tmp_path / "divided", watch=watched(told))
    assert sum(map(len, told.values())) > 20
    for progress in told.values():
        assert progress[-1].answered == progress[-1].questions
        assert [one.answered for one in progress] == sorted(one.answered for one in progress)
    assert other == manifest
    pd.testing.assert_frame_equal(divided.drop(columns="score"), scores.drop(columns="score"))
    assert divided["score"].to_numpy() == pytest.approx(scores["score"].to_numpy(), rel=1e-5, abs=1e-6)


@pytest.mark.usefixtures("_small_chunks")
def test_a_resumed_run_writes_the_same_bytes(masked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [pairs_file(tmp_path, 20)]
    told: list[Progress] = []

    def stop(progress: Progress) -> None:
        told.append(progress)
        if progress.answered > 12:
            raise KeyboardInterrupt

    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "stopped"))
    with pytest.raises(KeyboardInterrupt):
        evaluate(masked, items, device="cpu", watch=lambda _label: nullcontext(stop))
    assert told[-1].answered < told[-1].questions
    run(masked, items, tmp_path / "resumed")
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "whole"))
    run(masked, items, tmp_path / "uninterrupted")
    resumed, whole = ((tmp_path / name / "scores.parquet").read_bytes() for name in ("resumed", "uninterrupted"))
    assert resumed == whole


@pytest.mark.usefixtures("_small_chunks")
def test_values_so_far_are_of_all_chunks_so_far(masked: str, tmp_path: Path) -> None:
    seen: list[list[InterimValue]] = []
    evaluate(masked, pairs_file(tmp_path, 20), device="cpu", so_far=lambda values: seen.append(values()))
    counts = [values[0].items for values in seen if values]
    assert counts == sorted(counts)
    assert counts[-1] == 20
    assert len(set(counts)) > 3


def test_a_portion_is_refused_before_any_of_it_is_asked(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One item of many is too long, and it is in the last chunk."""
    monkeypatch.setattr(portion_blocks, "BLOCK_ITEMS", 3)
    monkeypatch.setattr(portion_blocks, "CHUNK_SIZE", 500)
    path = Path(association_file(tmp_path, 20))
    lines = path.read_text().splitlines()
    last = json.loads(lines[-1])
    path.write_text("\n".join([*lines[:-1], json.dumps({**last, "context": last["context"] + " And so on." * 60})]))
    told: dict[str, list[Progress]] = {}
    with pytest.raises(ModelError, match="tokens, but"):
        evaluate(causal, str(path), device="cpu", watch=watched(told))
    assert told == {}


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
        """Most questions that were in memory at once, where a chunk begins or ends."""
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
