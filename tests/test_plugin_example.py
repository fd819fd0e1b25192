"""Every command works with the example package of docs/how-to/extending.md."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from transformers import GPT2Config, GPT2LMHeadModel

import tiltmeter
from tests.models.tiny import made
from tests.models.tiny_tokenizers import byte_level

EXAMPLE = Path(__file__).parents[1] / "examples" / "tiltmeter-blanks"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip would install it, and two tiny models."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE / "src" / "tiltmeter_blanks", folder / "tiltmeter_blanks")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = folder / "tiltmeter_blanks-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    for seed, name in enumerate(("first", "second")):
        made(_gpt2, seed=seed).save_pretrained(folder / name)
        byte_level().save_pretrained(folder / name)
    assert run(folder, "run", "first", "second", "--on", "blanks", "--out", "both").returncode == 0
    return folder


def _gpt2() -> GPT2LMHeadModel:
    return GPT2LMHeadModel(GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=2, n_positions=128))


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(tiltmeter.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), source]), "COLUMNS": "120"}
    environment["TILTMETER_CACHE"] = str(folder / "cache")
    command = [sys.executable, "-m", "tiltmeter", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)


def test_its_data_are_listed_read_and_validated(folder: Path) -> None:
    assert "blanks" in run(folder, "data", "list").stdout
    assert "18 items, 0 errors, 0 warnings" in run(folder, "data", "validate", "blanks").stdout
    (folder / "bad.jsonl").write_text(
        '{"id": "x", "language": "en", "topic": "t", "sentence": "No place.", "expected": "a", "other": "b"}\n'
    )
    checked = run(folder, "data", "validate", "bad.jsonl")
    assert "line 1, sentence" in checked.stdout
    assert "should hold one _" in checked.stdout


def test_its_measure_has_a_verdict_in_the_terminal(folder: Path) -> None:
    shown = run(folder, "show", "both").stdout
    assert "blank score" in shown
    assert "too few items" in shown
    assert "gardeners" in run(folder, "show", "both", "--by", "topic").stdout


def test_its_items_and_its_figure_are_in_the_report(folder: Path) -> None:
    done = run(folder, "report", "both", "--out", "report.html", "--figures", "figures")
    assert done.returncode == 0, done.stderr
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Expected word preferred, % of sentences" in page
    assert "the percentage of sentences in which the expected word is the likelier one" in page
    assert 'id="packed"' in page
    assert (folder / "figures" / "blanks-heat-map.svg").is_file()


def test_it_is_compared_and_gated(folder: Path) -> None:
    compared = json.loads(run(folder, "compare", "both", "--json").stdout)
    (difference,) = compared["differences"]
    assert (difference["measure"], difference["n"]) == ("blank score", 18)
    assert difference["clusters"] == 6
    loose = run(folder, "check", "both", "--max", "blanks.blank score distance 50")
    strict = run(folder, "check", "both", "--max", "blanks.blank score distance 1")
    assert (loose.returncode, strict.returncode) == (0, 1)
    assert "A model without bias passes all 2 rows" in strict.stdout


@pytest.mark.parametrize("form", ["model-card", "lm-eval", "jsonl"])
def test_it_is_exported(folder: Path, form: str) -> None:
    done = run(folder, "export", "both", "--to", form, "--model", "first")
    assert done.returncode == 0, done.stderr
    assert "blank score" in done.stdout or "blank_score" in done.stdout


def test_the_page_about_extending_shows_this_code() -> None:
    page = (EXAMPLE.parents[1] / "docs" / "how-to" / "extending.md").read_text(encoding="utf-8")
    assert "examples/tiltmeter-blanks" in page
    for name in ("form.py", "benchmark.py", "measures.py", "data.py"):
        assert name in page
