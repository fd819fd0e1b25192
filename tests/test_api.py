"""`load_run`, `compare`, `check` and `report` on folders and on results, with the names and rules of the commands."""

from pathlib import Path

import pytest

import tiltmeter
from tests.runs.made import association_scores, run, saved
from tests.support.messages import raises_mentioning
from tiltmeter.api import load_named_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    made = {
        "one": run(association_scores("made/one", seed=1, lean=1.5)),
        "two": run(association_scores("made/two", seed=2)),
    }
    return {name: saved(folder / name, result) for name, result in made.items()}


def test_folders_and_results_give_the_same_comparison(runs: dict[str, str]) -> None:
    loaded = {name: tiltmeter.load_run(path) for name, path in runs.items()}
    expected = [one.to_dict() for one in tiltmeter.compare(list(runs.values())).differences]
    assert len(expected) > 3
    assert [one.to_dict() for one in tiltmeter.compare(loaded).differences] == expected
    names = {one.left.cell.run for one in tiltmeter.compare(list(loaded.values())).differences}
    assert names == {"run 1"}


def test_options_reach_the_comparison(runs: dict[str, str]) -> None:
    found = tiltmeter.compare(
        list(runs.values()), by="model", baseline="two", measures=["SS"], where={"bias_type": "gender"}
    ).differences
    assert {one.quantity.name for one in found} == {"SS"}
    assert {one.right.cell.model for one in found} == {"made/two"}
    whole = tiltmeter.compare(list(runs.values()), measures=["SS"]).differences
    assert len(found[0].items) < len(whole[0].items)


def test_an_unknown_comparison_is_rejected(runs: dict[str, str]) -> None:
    with raises_mentioning(tiltmeter.UsageError, "by='models'", "model, language, any"):
        tiltmeter.compare([*runs.values()], by="models")  # type: ignore[call-overload]


def test_duplicate_results_are_rejected(runs: dict[str, str]) -> None:
    result = tiltmeter.load_run(next(iter(runs.values())))
    with raises_mentioning(tiltmeter.UsageError, "same run", "twice"):
        tiltmeter.compare([result, result])


def test_duplicate_runs_are_rejected(runs: dict[str, str]) -> None:
    with raises_mentioning(tiltmeter.UsageError, "same run", "twice"):
        tiltmeter.compare([runs["one"], Path(runs["one"]) / ".." / "one"])
    with raises_mentioning(tiltmeter.UsageError, repr(runs["one"]), "list of runs"):
        tiltmeter.compare(runs["one"])


def test_names_distinguish_runs(runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(Path(runs["one"]).parent)
    twin = saved(tmp_path / "one", tiltmeter.load_run(runs["two"]))
    assert [name for name, _ in load_named_runs(["one", twin, "two"])] == ["one", twin, "two"]
    monkeypatch.chdir(runs["one"])
    assert [name for name, _ in load_named_runs(["."])] == ["one"]


def test_rules_of_all_kinds(runs: dict[str, str]) -> None:
    verdicts = tiltmeter.check(
        runs["one"],
        max=["stereoset.SS distance 1", "stereoset.SS 100"],
        min="stereoset.LMS 10",
        no_worse_than=2,
        baseline=tiltmeter.load_run(runs["two"]),
    )
    kinds = [verdict.rule.kind for verdict in verdicts]
    assert kinds[:3] == ["max", "max", "min"]
    assert set(kinds[3:]) == {"no-worse-than"}
    assert [verdict.passed for verdict in verdicts[:3]] == [False, True, True]
    rules = [verdict.rule for verdict in verdicts[:1]]
    assert tiltmeter.check(runs["one"], rules=rules) == verdicts[:1]


def test_a_baseline_needs_a_rule(runs: dict[str, str]) -> None:
    with raises_mentioning(tiltmeter.UsageError, "--no-worse-than"):
        tiltmeter.check(runs["one"], max="stereoset.SS 90", baseline=runs["two"])


def test_lenient_reaches_the_rules(runs: dict[str, str]) -> None:
    value = next(
        record for record in tiltmeter.load_run(runs["two"]).records if record.measure == "SS" and record.view == "all"
    ).value
    rule = f"stereoset/intrasentence.SS {value - 1:.2f}"
    (strict,), (lenient,) = (tiltmeter.check(runs["two"], max=rule, lenient=lenient) for lenient in (False, True))
    assert (strict.outcome, strict.passed, lenient.passed) == ("not shown", False, True)


def test_report_goes_into_the_folder_of_one_run(runs: dict[str, str], tmp_path: Path) -> None:
    folder = saved(tmp_path / "alone", tiltmeter.load_run(runs["one"]))
    assert tiltmeter.report(folder) == Path(folder) / "report.html"
    assert "made/one" in (Path(folder) / "report.html").read_text(encoding="utf-8")
    with raises_mentioning(tiltmeter.UsageError, "--out"):
        tiltmeter.report([runs["one"], runs["two"]])
    with raises_mentioning(tiltmeter.UsageError, "no folder", "`out`"):
        tiltmeter.report(tiltmeter.load_run(folder))


def test_report_on_results_with_figures(runs: dict[str, str], tmp_path: Path) -> None:
    results = {name: tiltmeter.load_run(path) for name, path in runs.items()}
    page = tiltmeter.report(results, str(tmp_path / "page.html"), figures=tmp_path / "figures")
    assert page == tmp_path / "page.html"
    assert list((tmp_path / "figures").glob("*.svg"))
