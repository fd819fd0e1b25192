"""Translation systems in a matrix: cells, runs, dry run, and errors of plans."""

import csv
from pathlib import Path

import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.cluster.model_job import run_job, write_job
from tiltmeter.cluster.plan_cells import make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.errors import TiltmeterError
from tiltmeter.runs.result import Result
from tiltmeter.runs.translation.translation_tasks import load_target
from tiltmeter.runs.translation_run import evaluate_translator

LIMIT = 6


@pytest.fixture
def system(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A translation system that reads its translations, with masculine and feminine speakers, from a file."""
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    path = tmp_path / "translations.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        texts = load_target("gest-mt:sk", "1.0").list_texts()
        csv.writer(file).writerows(
            [("from", "to"), *((text, f"Bol{'a' * (n % 2)} som.") for n, text in enumerate(texts))]
        )
    return f"file:{path}"


def write_plan(folder: Path, systems: str, on: str = '"gest-mt:sk"') -> Path:
    path = folder / "plan.toml"
    path.write_text(f"benchmarks = [{on}]\nlimit = {LIMIT}\n{systems}", encoding="utf-8")
    return path


def test_a_translation_system_is_run_like_a_model(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = f'[[translators]]\nname = "{system}"\nedition = "1.0"\n[[models]]\nname = "embedded"\n'
    path = write_plan(tmp_path, table, '"gest-mt:sk", "starter:en"')
    matrix = make_matrix(read_plan(path), tmp_path / "out")
    model, entry = matrix.models
    assert [cell.on for cell in model.cells] == ["starter:en"]
    (cell,) = entry.cells
    assert cell.folder == "gest-mt.sk.rules"
    write_job(entry)
    assert run_job(entry.folder)["failed"] == {}
    assert entry.unfinished_cells == []
    single = evaluate_translator(system, on="gest-mt:sk", edition="1.0", limit=LIMIT)
    assert Result.load(entry.folder / cell.folder).records == single.records

    assert command(monkeypatch, "matrix", str(path), "--out", str(tmp_path / "new"), "--dry-run") == 0
    assert_mentions(capsys.readouterr().out, system, "6 items", "characters to translate")
    path.write_text(path.read_text().replace('"1.0"', '"1.1"'))
    assert make_matrix(read_plan(path), tmp_path / "out").models[1].unfinished_cells


@pytest.mark.parametrize(
    ("systems", "on", "parts"),
    [
        ('[[translators]]\nname = "bing"', '"gest-mt:sk"', ["'bing'", "translation system"]),
        ('[[translators]]\nname = "deepl"\ntokenizer = "x"', '"gest-mt:sk"', ["translator 1", "'tokenizer'"]),
        ('[[translators]]\nname = "deepl"', '"starter"', ["deepl", "gest-mt:sk"]),
        ('[[models]]\nname = "gpt2"', '"gest-mt:sk"', ["gpt2", "language models"]),
    ],
)
def test_errors_of_plans(systems: str, on: str, parts: list[str], tmp_path: Path) -> None:
    with raises_mentioning(TiltmeterError, *parts):
        make_matrix(read_plan(write_plan(tmp_path, systems, on)), tmp_path / "out")
