"""`compare`, `check` and `export`: output, files and exit codes."""

import json
from pathlib import Path

import pytest

import tiltmeter
from tests.runs.made import association_scores, pair_scores, run, saved
from tests.support.command import command
from tests.support.messages import assert_mentions


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    made = {
        "one": run(association_scores("made/one", seed=1, lean=1.5)),
        "two": run(association_scores("made/two", seed=2)),
        "elsewhere": run(association_scores("made/three", seed=3, first=700)),
        "pairs": run(pair_scores(), family="pairs"),
    }
    return {name: saved(folder / name, result) for name, result in made.items()}


def test_compare(runs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    page = tmp_path / "new" / "page.html"
    assert command(monkeypatch, "compare", runs["one"], runs["two"], "--html", str(page)) == 0
    out = capsys.readouterr()
    assert_mentions(out.out, "made/one", "significantly farther from 50", "made/two")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert str(page) in out.err


def test_compare_as_json(runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert command(monkeypatch, "compare", runs["one"], runs["two"], "--json", "--measure", "SS") == 0
    content = json.loads(capsys.readouterr().out)
    assert [difference["part"] for difference in content["differences"]] == [
        "intrasentence",
        "intersentence",
        "overall",
    ]


def test_check_passes_and_fails(runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert command(monkeypatch, "check", runs["one"], "--min", "stereoset.LMS 60") == 0
    assert command(monkeypatch, "check", runs["one"], "--max", "stereoset.SS distance 1") == 1
    assert "Failed: 1 of 1" in capsys.readouterr().out
    assert command(monkeypatch, "check", runs["one"], "--baseline", runs["two"], "--no-worse-than", "2") == 1
    assert command(monkeypatch, "check", runs["two"], "--baseline", runs["one"], "--no-worse-than", "2") == 0
    capsys.readouterr()
    assert command(monkeypatch, "check", runs["one"], "--max", "stereoset.SS distance 1", "--json") == 1
    assert json.loads(capsys.readouterr().out)[0]["outcome"] == "broken"


def test_edited_measures_do_not_open_a_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """The values of measures.json are recomputed from the scores, also for a baseline."""
    folders = [
        saved(tmp_path / name, run(association_scores(f"made/{name}", seed=1, lean=lean)))
        for name, lean in (("biased", 1.5), ("even", 0.0))
    ]
    rule = ("--max", "stereoset.SS distance 1", "--lenient")
    honest = [command(monkeypatch, "check", folder, *rule) for folder in folders]
    assert honest == [1, 0]
    for folder in folders:
        path = Path(folder) / "measures.json"
        rows = json.loads(path.read_text(encoding="utf-8"))
        for row in rows:
            if row["measure"] == "SS":
                row |= {"value": 50.0, "low": 49.9, "high": 50.1, "standard_error": 0.01}
                row["verdict"] = row["verdict"] and {**row["verdict"], "kind": "no bias", "words": "no bias"}
        path.write_text(json.dumps(rows), encoding="utf-8")
    assert [command(monkeypatch, "check", folder, *rule) for folder in folders] == honest
    assert (
        tiltmeter.check(tiltmeter.load_run(folders[0]), max="stereoset.SS distance 1", lenient=True)[0].passed is False
    )
    compared = ("--baseline", folders[1], "--no-worse-than", "2")
    assert command(monkeypatch, "check", folders[0], *compared) == 1
    capsys.readouterr()


def test_check_by_file_and_summary(
    runs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiltmeter.toml").write_text('[[check]]\nmax = "stereoset.SS distance 1"\nlenient = true\n', encoding="utf-8")
    steps = tmp_path / "steps.md"
    steps.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(steps))
    assert command(monkeypatch, "check", runs["two"], "--markdown", "own.md") == 0
    assert "Lenient" in capsys.readouterr().out
    assert command(monkeypatch, "check", runs["two"], "--strict") == 1
    assert steps.read_text(encoding="utf-8").startswith("before\n### Tiltmeter")
    assert steps.read_text(encoding="utf-8").count("### Tiltmeter") == 2
    assert ":white_check_mark:" in Path("own.md").read_text(encoding="utf-8")


def test_export(runs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert command(monkeypatch, "export", runs["one"], "--to", "jsonl") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["model"] == "made/one"
    out = tmp_path / "deep" / "card.md"
    assert command(monkeypatch, "export", runs["one"], "--to", "model-card", "--out", str(out)) == 0
    assert command(monkeypatch, "export", runs["one"], "--to", "model-card", "--out", str(out)) == 2
    assert_mentions(capsys.readouterr().err, str(out), "--force")
    assert command(monkeypatch, "export", runs["one"], "--to", "model-card", "--out", str(out), "--force") == 0


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["compare", "nowhere", "{one}"], ["nowhere", "manifest.json", "finished run"]),
        (["compare", "{one}"], ["a second run"]),
        (["compare", "{one}", "{one}"], ["same run", "twice"]),
        (["compare", "{one}", "{elsewhere}"], ["share no items"]),
        (["compare", "{one}", "{pairs}"], ["same benchmark"]),
        (["compare", "{one}", "{two}", "--by", "size"], ["--by size", "model, language, any"]),
        (["compare", "{one}", "{two}", "--measure", "ss"], ["no measure 'ss'"]),
        (["compare", "{one}", "{two}", "--where", "gender"], ["--where gender", "NAME=VALUE"]),
        (["compare", "{one}", "{two}", "--baseline", "thre"], ["thre"]),
        (["check", "{one}", "--max", "stereoset.SS five"], ["five", "not a number"]),
        (["check", "{one}", "--max", "stereoset.SSS 5"], ["did you mean SS?"]),
        (["check", "{one}"], ["no rules"]),
        (["check", "{one}", "--config", "none.toml"], ["none.toml cannot be read"]),
        (["check", "{one}", "--baseline", "{two}"], ["--no-worse-than"]),
        (["check", "{one}", "--no-worse-than", "2"], ["--baseline"]),
        (["check", "{one}", "--no-worse-than", "2", "--baseline", "{pairs}"], ["baseline has no scores"]),
        (["check", "{one}", "--no-worse-than", "2", "--baseline", "{elsewhere}"], ["share no items"]),
        (["export", "{one}", "--to", "modelcard"], ["did you mean model-card?"]),
        (["export", "{one}", "--to", "hf-eval-results"], ["--dataset-id"]),
        (["export", "nowhere", "--to", "jsonl"], ["nowhere", "finished run"]),
        (["export", "{one}", "--to", "jsonl", "--out", "."], ["is a folder"]),
        (["export", "{one}", "--to", "jsonl", "--model", "made/on"], ["did you mean made/one?"]),
    ],
)
def test_bad_input_is_a_message_of_one_line(
    words: list[str],
    parts: list[str],
    runs: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(monkeypatch, *(word.format(**runs) for word in words)) == 2
    error = capsys.readouterr().err.strip()
    assert_mentions(error, *parts)
    assert error.startswith("tiltmeter: ")
    assert len(error.splitlines()) == 1
    assert error.endswith(".")


@pytest.mark.parametrize("name", ["compare", "check", "export"])
def test_help_has_examples(name: str, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert command(monkeypatch, name, "--help") == 0
    assert f"tiltmeter {name} runs/" in capsys.readouterr().out
