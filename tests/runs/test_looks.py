"""Looks at growing samples: the record in the cache and in the manifest, and the correction of p-values."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.look_store import LookStore
from tiltmeter.runs.result import Result

PORTION = "starter/intrasentence:en"


def assert_corrected(result: Result, factor: int) -> None:
    """Assert that all p-values are those without looks, times the factor."""
    plain = replace(result, manifest=replace(result.manifest, looks=())).remeasure()
    below_one = 0
    for record, other in zip(result.records, plain.records, strict=True):
        for name in ("p_adjusted", "p_equivalence", "p_beyond"):
            before, after = getattr(other, name), getattr(record, name)
            assert after == (None if before is None else pytest.approx(min(1.0, factor * before)))
            below_one += after is not None and after < 1
        assert record.interval == other.interval
    assert below_one


def earlier(result: Result) -> list[tuple[int, ...]]:
    return [look.earlier for look in result.manifest.looks]


def test_looks_at_growing_samples_are_recorded_and_corrected(causal: str, tmp_path: Path) -> None:
    wide = {"SS": 40.0}  # so that the tests of equivalence have small p-values
    first = evaluate(causal, PORTION, limit=10, margins=wide)
    second = evaluate(causal, PORTION, limit=20, margins=wide)
    whole = evaluate(causal, PORTION, margins=wide, out=tmp_path / "run")
    assert [earlier(result) for result in (first, second, whole)] == [[()], [(10,)], [(10, 20)]]
    assert [result.manifest.looks[0].factor for result in (first, second, whole)] == [2, 6, 3]
    for result, factor in ((first, 2), (second, 6), (whole, 3)):
        assert_corrected(result, factor)
    saved = json.loads((tmp_path / "run/manifest.json").read_text())
    assert saved["looks"][0]["earlier"] == [10, 20]
    assert Result.load(tmp_path / "run").remeasure().records == whole.records


def test_a_repeated_look_keeps_its_place(causal: str) -> None:
    first = evaluate(causal, PORTION, limit=10)
    evaluate(causal, PORTION, limit=20)
    again = evaluate(causal, PORTION, limit=10)
    assert again.records == first.records
    assert again.manifest.looks == first.manifest.looks


def test_a_single_look_at_all_items_is_not_corrected(causal: str) -> None:
    result = evaluate(causal, PORTION)
    assert earlier(result) == [()]
    assert {r.looks for r in result.records if r.p_value is not None} == {1}
    assert all(r.p_adjusted == r.p_value for r in result.records if r.tests == 1)


def test_other_models_languages_and_protocols_have_their_own_looks(causal: str, masked: str) -> None:
    evaluate(causal, PORTION, limit=10)
    assert earlier(evaluate(masked, PORTION, limit=20)) == [()]
    assert earlier(evaluate(causal, "starter/intrasentence:de", limit=20)) == [()]
    assert earlier(evaluate(causal, PORTION, limit=20, perturb="lower-case")) == [()]
    assert earlier(evaluate(causal, "starter/intrasentence:en,de", limit=30)) == [(10,), (20,)]


def test_the_terminal_states_looks_and_families(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(causal, PORTION, limit=10)
    assert command(monkeypatch, "run", causal, "--on", PORTION, "--limit", "20", "--out", str(tmp_path / "run")) == 0
    out = capsys.readouterr().out
    assert_mentions(out, "Look 2", PORTION, "after 10 items", "multiplied by 6", "test famil", "5%")
    assert_mentions((tmp_path / "run/report.html").read_text(), "Look 2", "test families")


def test_the_whole_run_can_be_one_family(causal: str, tmp_path: Path) -> None:
    plain = evaluate(causal, "starter/intrasentence:en,de")
    whole = evaluate(causal, "starter/intrasentence:en,de", family="run", out=tmp_path / "run")
    assert whole.manifest.request["family"] == whole.manifest.statistics.families == "run"
    tested = [record for record in whole.records if record.p_value is not None]
    assert [r.p_adjusted for r in tested] == pytest.approx(adjust_holm([r.p_value or 0.0 for r in tested]))
    assert {record.tests for record in tested} == {len(tested)}
    assert plain.remeasure("run").records == whole.records
    assert Result.load(tmp_path / "run").remeasure("portion").records == plain.records
    with raises_mentioning(UsageError, "rum", "portion or run"):
        evaluate(causal, PORTION, family="rum")


def test_show_and_score_correct_over_the_whole_run(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = evaluate(causal, "starter/intrasentence:en,de", out=tmp_path / "run")
    assert command(monkeypatch, "show", str(tmp_path / "run"), "--family", "run", "--json") == 0
    shown = {row["tests"] for row in json.loads(capsys.readouterr().out) if row["tests"]}
    assert shown == {len([record for record in plain.records if record.p_value is not None])}
    assert command(monkeypatch, "show", str(tmp_path / "run"), "--family", "run") == 0
    assert_mentions(capsys.readouterr().out, "Error rate: 1 test family")


def test_a_damaged_store_is_replaced_and_a_read_only_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "looks.sqlite"
    with LookStore(path) as store:
        assert store.add_look("bert", 10) == ()
        assert store.add_look("bert", 30) == (10,)
        assert store.add_look("bert", 20) == (10, 30)
        assert store.add_look("gpt2", 20) == ()
    with LookStore(path) as store:
        assert store.add_look("bert", 40) == (10, 30, 20)
        assert store.add_look("bert", 30) == (10,)
        store.is_read_only = True
        assert store.add_look("bert", 50) == (10, 30, 20, 40)
        assert store.add_look("bert", 60) == (10, 30, 20, 40)
    path.write_bytes(b"x" * 4096)
    with LookStore(path) as store:
        assert store.add_look("bert", 50) == ()
