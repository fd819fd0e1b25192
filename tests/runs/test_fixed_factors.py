"""The option `--fixed`: intervals do not account for fixed factors, and outputs say so."""

import json
from pathlib import Path

import pytest

import tiltmeter
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.measurement import measure_scores
from tiltmeter.runs.result import Result
from tiltmeter.runs.translation_run import score_translations

PORTION = "starter/intrasentence:en"
WORDS = ["stereotype_word", "anti_stereotype_word"]


def measure_without(result: Result, columns: list[str]) -> list[object]:
    """The records for a table of scores without these columns."""
    scores = result.scores.drop(columns=columns)
    return measure_scores(scores, {"starter": "association"}, result.manifest.asked, looks=result.manifest.looks)


def test_fixed_words_are_left_out_of_the_intervals(causal: str, tmp_path: Path) -> None:
    plain = evaluate(causal, PORTION)
    fixed = evaluate(causal, PORTION, fixed=["words"], out=tmp_path / "run")
    assert fixed.records == measure_without(plain, WORDS) != plain.records
    assert fixed.records == plain.remeasure(fixed=["words"]).records
    assert plain.records == fixed.remeasure(fixed=[]).records
    assert {r.factor for r in fixed.records} <= {"target", "", None}
    assert [r.value for r in fixed.records] == [r.value for r in plain.records]
    saved = json.loads((tmp_path / "run/manifest.json").read_text())
    assert saved["statistics"]["fixed"] == saved["request"]["fixed"] == ["words"]
    assert Result.load(tmp_path / "run").remeasure().records == fixed.records
    evaluate(causal, PORTION, fixed=["words"], out=tmp_path / "run")  # the same request
    with raises_mentioning(UsageError, "another run"):
        evaluate(causal, PORTION, out=tmp_path / "run")


def test_results_by_target_are_kept_if_targets_are_fixed(causal: str) -> None:
    result = evaluate(causal, PORTION, fixed=["targets", "words"])
    assert {r.view for r in result.records} == {r.view for r in evaluate(causal, PORTION).records}
    assert {r.clusters for r in result.records} == {None}
    assert {r.design_effect for r in result.records} <= {None, 1.0}


def test_outputs_name_the_fixed_factors(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "run")
    assert command(monkeypatch, "run", causal, "--on", PORTION, "--fixed", "words", "--out", out) == 0
    assert_mentions(capsys.readouterr().out, "--fixed words")
    assert_mentions((tmp_path / "run/report.html").read_text(), "--fixed words")
    assert command(monkeypatch, "show", out, "--fixed", "targets", "--fixed", "words") == 0
    assert_mentions(capsys.readouterr().out, "--fixed targets --fixed words")


def test_other_names_are_errors(causal: str) -> None:
    with raises_mentioning(UsageError, "--fixed word", "did you mean words", "targets or words"):
        evaluate(causal, PORTION, fixed=["word"])
    with raises_mentioning(UsageError, "--fixed words", "ideas"):
        evaluate(causal, "starter-gest:en", fixed=["words"])


def test_a_comparison_fixes_what_is_fixed_in_all_runs(causal: str, masked: str) -> None:
    plain, other = evaluate(causal, PORTION), evaluate(masked, PORTION)
    fixed, fixed_too = plain.remeasure(fixed=["words"]), other.remeasure(fixed=["words", "targets"])

    def errors(*runs: Result, **options: object) -> tuple[list[float], list[str]]:
        found = tiltmeter.compare(list(runs), across=["kinds"], **options)
        return [d.contrast.high for d in found.differences], [note for note in found.notes if "--fixed" in note]

    assert errors(plain, fixed_too) == errors(plain, other) == (errors(plain, other)[0], [])
    both, notes = errors(fixed, fixed_too)
    assert both != errors(plain, other)[0]
    assert both == errors(plain, other, fixed=["words"])[0]
    (note,) = notes
    assert_mentions(note, "--fixed words")


def test_translations_have_families_looks_and_fixed_factors(tmp_path: Path) -> None:
    rows = [
        {"id": f"i{number}", "language": "en", "stereotype": 1 + number % 16, "sentence": f"I read book {number}."}
        for number in range(64)
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    lines = [f"{row['sentence']} ||| {'Čítal' if i % 3 else 'Čítala'} som knihu {i}.\n" for i, row in enumerate(rows)]
    (tmp_path / "sk.txt").write_text("".join(lines), encoding="utf-8")
    on = f"{tmp_path / 'mine.jsonl'}:sk"
    part = score_translations(tmp_path / "sk.txt", system="Made", on=on, limit=32)
    whole = score_translations(tmp_path / "sk.txt", system="Made", on=on, family="run")
    assert [
        [(look.items, look.earlier, look.factor) for look in result.manifest.looks] for result in (part, whole)
    ] == [
        [(32, (), 2)],
        [(64, (32,), 2)],
    ]
    assert whole.manifest.statistics.families == whole.manifest.request["family"] == "run"
    tested = [record for record in whole.records if record.p_value is not None]
    assert {record.tests for record in tested} == {len(tested)}
    assert {record.looks for record in tested} == {2}
    with raises_mentioning(UsageError, "--fixed words", "ideas"):
        score_translations(tmp_path / "sk.txt", system="Made", on=on, fixed=["words"])
