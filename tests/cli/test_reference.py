"""`reference list`, `fetch` and `add`, and `compare --with`: output, files and exit codes."""

import json
import shutil
from pathlib import Path

import pytest

import tiltmeter
from tests.runs.made import chosen_scores, run, saved
from tests.support.command import command
from tests.support.messages import assert_mentions

VALUES = {"a": 50, "b": 52, "c": 55, "d": 64, "e": 70}
ONE_FILE = "results/predictions/gpt2__GPT2LM_orig_en.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `mine` and the runs of five other models."""
    folder = tmp_path_factory.mktemp("runs")
    saved(folder / "mine", run(chosen_scores("mine", 60)))
    for seed, (name, ss) in enumerate(VALUES.items(), start=1):
        saved(folder / "others" / name, run(chosen_scores(name, ss, seed=seed)))
    return folder


@pytest.fixture
def small_mirror(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror with the English items of StereoSet and one released file."""
    small = tmp_path / "mirror"
    source = mirror / "slds-lmu" / "stereotypes-multi"
    paths = [f"create_dataset/data/{part}/df_{part}_en.pkl" for part in ("intrasentence", "intersentence")]
    for path in (*paths, ONE_FILE):
        target = small / "slds-lmu" / "stereotypes-multi" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, target)
    monkeypatch.setenv("TILTMETER_MIRROR", str(small))
    return small


def test_a_shared_set(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    team = tmp_path / "team"
    assert command(monkeypatch, "reference", "add", str(folder / "others"), "--to", str(team)) == 0
    assert sorted(path.name for path in team.iterdir()) == [f"{name}.parquet" for name in VALUES]
    capsys.readouterr()
    page, latex, figures = tmp_path / "page.html", tmp_path / "table.tex", tmp_path / "figures"
    outputs = ["--html", str(page), "--latex", str(latex), "--figures", str(figures)]
    assert command(monkeypatch, "compare", str(folder / "mine"), "--with", str(team), *outputs) == 0
    lines = capsys.readouterr().out.splitlines()
    assert_mentions(lines[0], "SS 60.0", "more biased than 3 of 5", "Rank 4 of 6", "percentile 60")
    html = page.read_text(encoding="utf-8")
    assert html.index("more biased than 3 of 5") < html.index("<figure>") < html.index("<td")
    assert_mentions(latex.read_text(encoding="utf-8"), r"\toprule", r"\textbf{mine}")
    assert {path.suffix for path in figures.rglob("*.*")} == {".svg", ".png", ".pdf"}


def test_json_and_all_positions(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    words = ("compare", str(folder / "mine"), "--with", str(folder / "others"))
    assert command(monkeypatch, *words, "--json") == 0
    positions = json.loads(capsys.readouterr().out)["positions"]
    assert [position["part"] for position in positions] == ["intrasentence", "intersentence", "overall"]
    assert {position["rank"] for position in positions} == {4}
    assert command(monkeypatch, *words, "--all") == 0
    assert_mentions(capsys.readouterr().out, "stereoset/intrasentence:en", "stereoset/intersentence:en")


def test_a_set_in_one_file_with_a_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    file = tmp_path / "set.parquet"
    words = ("reference", "add", str(folder / "others" / "a"), "--to", str(file), "--name", "first, May")
    assert command(monkeypatch, *words) == 0
    assert command(monkeypatch, *words) == 2
    assert_mentions(capsys.readouterr().err, str(file), "first, May", "--force")
    assert command(monkeypatch, *words, "--force") == 0
    assert command(monkeypatch, "reference", "add", str(folder), "--to", str(file), "--name", "x") == 2
    assert_mentions(capsys.readouterr().err, "--name", "6")


def test_list(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert command(monkeypatch, "reference", "list") == 0
    assert_mentions(capsys.readouterr().out, "stereoset-languages", "0 of 44", "CC-BY-SA-4.0", "gest-mt:")
    assert command(monkeypatch, "reference", "list", "--json") == 0
    assert json.loads(capsys.readouterr().out)[1]["results_in_cache"] == 0


def test_fetch_what_is_available(small_mirror: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert command(monkeypatch, "reference", "fetch", "stereoset-languages") == 0
    out = capsys.readouterr()
    assert_mentions(out.out, "stereoset-languages: 1 of 44")
    assert_mentions(out.err, "Not available", str(small_mirror), "--verbose")
    ours = tiltmeter.score_predictions(
        small_mirror / "slds-lmu" / "stereotypes-multi" / ONE_FILE,
        form="stereotypes-multi",
        on="stereoset:en",
        model="mine",
    )
    (found,) = tiltmeter.compare_with_references([ours]).positions
    assert [one.outcome for one in found.same] == ["identical"]
    # The file in the cache is used although the mirror is empty now.
    shutil.rmtree(small_mirror / "slds-lmu")
    assert command(monkeypatch, "reference", "fetch", "stereoset-languages") == 0
    assert command(monkeypatch, "reference", "fetch", "stereoset-original") == 2


def test_bad_requests(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    mine = str(folder / "mine")
    for words, parts in {
        ("reference", "fetch", "stereoset-langages"): ("stereoset-langages", "stereoset-languages"),
        ("compare", mine, "--with", "published"): ("stereoset:en", "tiltmeter reference fetch"),
        ("compare", mine, "--with", str(tmp_path / "none")): (str(tmp_path / "none"), "published"),
        ("compare", mine, "--with", "published", "--group", "x"): ("--group", "--with"),
        ("compare", mine, "--with", "published", "--items", "3"): ("--items", "--with"),
        ("compare", mine, "--latex", "x.tex"): ("--latex", "--with"),
    }.items():
        assert command(monkeypatch, *words) == 2
        assert_mentions(capsys.readouterr().err, *parts)
