"""Verdicts, samples, margins and rejected comparisons in the output of commands."""

import json
from pathlib import Path

import pytest

from tests.runs.made import association_scores, chosen_scores, pair_scores, run, saved
from tests.runs.test_prediction_run import predictions
from tests.support.command import command
from tests.support.messages import assert_mentions

SAMPLE = [
    {"benchmark": "stereoset", "part": part, "language": "en", "items": 60, "available": 2106, "files": {"x": "1"}}
    for part in ("intrasentence", "intersentence")
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    bert = association_scores("bert", seed=1, lean=0.6)
    made = {
        "bert": run(bert),
        "again": run(bert.assign(score=bert["score"] * (1 + 1e-6))),
        "roberta": run(association_scores("roberta", seed=2)),
        "gpt2": run(association_scores("gpt2", seed=3), kind="causal"),
        "in_context": run(association_scores("bert", seed=4, protocol="in-context")),
        "edition": run(association_scores("roberta", seed=2), data=[{**SAMPLE[0], "files": {"x": "2"}}]),
        "sample": run(association_scores("bert", seed=1, lean=0.6), data=SAMPLE),
        "chat": run(association_scores("chat", seed=5), answers="prompted"),
        "pairs": run(pair_scores("bert", seed=1), family="pairs"),
        "other_pairs": run(pair_scores("xlm-r", seed=2), family="pairs"),
        "languages": run(*(association_scores("bert", language=code, seed=2) for code in ("en", "de"))),
        "torn": run(chosen_scores("torn", {"intrasentence": 60.0, "intersentence": 40.0}, n=600)),
        "even": run(chosen_scores("even", 50.0, n=200)),
        "senseless": run(chosen_scores("senseless", 50.0, n=400, sense=False)),
    }
    return {name: saved(folder / name, result) for name, result in made.items()}


@pytest.mark.parametrize(
    ("left", "right", "flag", "more"),
    [
        ("bert", "gpt2", "kinds", []),
        ("bert", "in_context", "protocols", []),
        ("sample", "edition", "editions", []),
        ("pairs", "other_pairs", "tokenizers", ["--measure", "S_JSD"]),
    ],
)
def test_compare_across(
    left: str,
    right: str,
    flag: str,
    more: list[str],
    runs: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys,
) -> None:
    words = ["compare", runs[left], runs[right], *more]
    assert command(monkeypatch, *words) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("tiltmeter: ")
    assert error.endswith(f"add --across {flag}.")
    assert len(error.splitlines()) == 1
    page = tmp_path / "page.html"
    assert command(monkeypatch, *words, "--across", flag, "--html", str(page)) == 0
    warning = f"Compared across {flag}: "
    assert warning in capsys.readouterr().out
    assert warning in page.read_text(encoding="utf-8")
    assert command(monkeypatch, *words, "--across", flag, "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert any(note.startswith(warning) for note in content["notes"])
    assert content["differences"]


def test_prompting_and_likelihood(runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    flags = [word for name in ("kinds", "protocols", "editions", "tokenizers") for word in ("--across", name)]
    for more in ([], flags):
        assert command(monkeypatch, "compare", runs["bert"], runs["chat"], *more) == 2
        error = capsys.readouterr().err
        assert_mentions(error, "bert", "chat")
        assert "add --across" not in error


def test_languages_have_their_caveat(runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert command(monkeypatch, "compare", runs["languages"], "--by", "language", "--json") == 0
    content = json.loads(capsys.readouterr().out)
    (note,) = content["notes"]
    assert_mentions(note, "languages", "translation")
    assert {(d["left"]["language"], d["right"]["language"]) for d in content["differences"]} == {("en", "de")}


def test_show_by_target(runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert command(monkeypatch, "show", runs["even"], "--by", "target") == 0
    out = capsys.readouterr().out
    assert out.count("target ") >= 3 * 20
    assert out.rstrip().splitlines()[-1].startswith("Results of single terms")
    assert command(monkeypatch, "show", runs["even"], "--by", "bias_type") == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("gender", "profession", "race"))
    assert "Results of single terms" not in out
    assert command(monkeypatch, "show", runs["even"], "--by", "targt") == 2
    assert_mentions(capsys.readouterr().err, "by targt", "did you mean target?", "all, bias_type")


def test_a_sample_is_named(runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert command(monkeypatch, "show", runs["sample"]) == 0
    assert_mentions(capsys.readouterr().out, "60 of the 2,106", "stereoset/intrasentence:en", "--limit")
    assert command(monkeypatch, "check", runs["sample"], "--max", "stereoset.SS 99") == 0
    assert_mentions(capsys.readouterr().out, "120 of 4,212 items")
    assert command(monkeypatch, "show", runs["bert"]) == 0
    assert "sample" not in capsys.readouterr().out


def test_parts_that_contradict_each_other(runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert command(monkeypatch, "show", runs["torn"]) == 0
    out = capsys.readouterr().out
    assert_mentions(out, "contradictory", "intrasentence towards", "intersentence against")
    assert command(monkeypatch, "check", runs["torn"], "--max", "stereoset.SS distance 6", "--json") == 1
    places = [verdict["place"] for verdict in json.loads(capsys.readouterr().out)]
    assert places == ["stereoset/intrasentence:en", "stereoset/intersentence:en"]


@pytest.mark.parametrize("mode", ["--strict", "--lenient"])
def test_rules_on_uninterpretable_results_fail(
    mode: str, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    assert command(monkeypatch, "check", runs["senseless"], "--max", "stereoset.SS distance 40", mode) == 1
    out = capsys.readouterr().out
    assert_mentions(out, "not interpretable", "guessing")


@pytest.mark.parametrize("margin", ["0", "2"])
def test_a_model_passes_its_own_gate(
    margin: str, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    for baseline in ("bert", "again"):
        assert command(monkeypatch, "check", runs["bert"], "--baseline", runs[baseline], "--no-worse-than", margin) == 0
        assert_mentions(capsys.readouterr().out, "the same answers")


def test_check_across(runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    words = ["check", runs["bert"], "--baseline", runs["gpt2"], "--no-worse-than", "60"]
    assert command(monkeypatch, *words) == 2
    assert capsys.readouterr().err.strip().endswith("add --across kinds.")
    assert command(monkeypatch, *words, "--across", "kinds") == 0
    assert command(monkeypatch, *words, "--across", "colours") == 2
    assert_mentions(capsys.readouterr().err, "colours", "kinds, protocols, editions, tokenizers")


def test_how_often_an_even_model_passes(
    runs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    summary = tmp_path / "summary.md"
    words = ["check", runs["even"], "--max", "stereoset.SS distance 5"]
    assert command(monkeypatch, *words, "--markdown", str(summary)) == 1
    out = capsys.readouterr().out
    for text in (out, summary.read_text(encoding="utf-8")):
        assert_mentions(text, "model without bias", "with probability")
    assert command(monkeypatch, *words, "--json") == 1
    (verdict,) = json.loads(capsys.readouterr().out)
    assert verdict["even"] < 0.5
    assert_mentions(out, f"{verdict['needed']:,} items", "95%")


def test_a_plan_checks_nothing(runs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    summary = tmp_path / "summary.md"
    words = ["check", runs["even"], "--max", "stereoset.SS distance 1", "--plan", "--markdown", str(summary)]
    assert command(monkeypatch, *words) == 0
    out = capsys.readouterr().out
    assert "n for 95%" in out
    assert "Failed" not in out
    assert not summary.exists()


def test_score_prints_kind_and_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    path = predictions(tmp_path, "THUMT_mGPT_GPT2LM_ModelNSP_en")
    words = ["score", "--predictions", str(path), "--as", "stereotypes-multi", "--on", "starter:en"]
    assert command(monkeypatch, *words) == 0
    assert_mentions(capsys.readouterr().err, "causal model", "next-sentence", "published/fine-tuned-head")
    assert command(monkeypatch, *words, "--kind", "seq2seq", "--protocol", "in-context") == 0
    assert_mentions(capsys.readouterr().err, "seq2seq model", "next-sentence", "in-context")
    unknown = predictions(tmp_path, "mine")
    words[2] = str(unknown)
    assert command(monkeypatch, *words) == 0
    assert_mentions(capsys.readouterr().err, "mine", "--kind")
    assert command(monkeypatch, *words, "--kind", "recurrent") == 2
    assert_mentions(capsys.readouterr().err, "--kind recurrent", "masked")


def test_a_margin_is_given_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    path = predictions(tmp_path, "gpt2_GPT2LM_GPT2LM_d_en")
    words = ["score", "--predictions", str(path), "--as", "stereotypes-multi", "--on", "starter:en"]
    assert command(monkeypatch, *words, "--margin", "SS=45", "--out", str(tmp_path / "run")) == 0
    capsys.readouterr()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["request"]["margins"] == manifest["statistics"]["margins"] == {"SS": 45.0}
    assert command(monkeypatch, "show", str(tmp_path / "run")) == 0
    assert_mentions(capsys.readouterr().out, "±45 points")


@pytest.mark.parametrize(
    ("margin", "parts"),
    [
        ("SS", ["--margin SS ", "MEASURE=NUMBER"]),
        ("SS=wide", ["--margin SS=wide", "MEASURE=NUMBER"]),
        ("SSS=3", ["'SSS'", "did you mean SS?"]),
        ("SS=0", ["margin 0 of SS", "greater than 0"]),
        ("SS=nan", ["margin nan of SS"]),
        ("SS=inf", ["SS", "less than 50"]),
        ("g_s=0.9", ["margin 0.9 of g_s", "greater than 1"]),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        ["run", "nowhere", "--on", "starter:en"],
        ["run", "--translations", "sk.csv", "--system", "ada", "--on", "gest-mt:sk"],
        ["score", "--predictions", "mine.json", "--as", "stereotypes-multi", "--on", "starter:en"],
    ],
    ids=["run", "translations", "score"],
)
def test_bad_margins_are_a_message_of_one_line(
    margin: str, parts: list[str], words: list[str], monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    assert command(monkeypatch, *words, "--margin", margin) == 2
    error = capsys.readouterr().err.strip()
    assert_mentions(error, *parts)
    assert len(error.splitlines()) == 1
