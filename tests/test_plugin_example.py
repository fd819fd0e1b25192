"""Every command works with the example package of docs/how-to/extending.md."""

import json
import shutil
import tomllib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from tests.models.tiny_tokenizers import byte_level
from tests.support.messages import assert_mentions
from tests.support.plugin_package import EXAMPLES, install_example, run, save_models
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.testing import check_benchmark, check_form, check_measure


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip would install it, and two tiny models."""
    folder = tmp_path_factory.mktemp("plugin")
    install_example("tiltmeter-blanks", folder)
    save_models(folder, "first", "second")
    assert run(folder, "run", "first", "second", "--on", "blanks", "--out", "both").returncode == 0
    return folder


def test_its_data_are_listed_read_and_validated(folder: Path) -> None:
    assert "blanks" in run(folder, "data", "list").stdout
    assert "18 items, 0 errors, 0 warnings" in run(folder, "data", "validate", "blanks").stdout
    (folder / "bad.jsonl").write_text(
        '{"id": "x", "language": "en", "topic": "t", "sentence": "No place.", "expected": "a", "other": "b"}\n'
    )
    checked = run(folder, "data", "validate", "bad.jsonl")
    assert_mentions(checked.stdout, "line 1, sentence", "one _")


def test_its_measure_has_a_verdict_in_the_terminal(folder: Path) -> None:
    shown = run(folder, "show", "both").stdout
    assert "blank score" in shown
    assert "too few items" in shown
    assert "gardeners" in run(folder, "show", "both", "--by", "topic").stdout


def test_its_items_and_its_figure_are_in_the_report(folder: Path) -> None:
    done = run(folder, "report", "both", "--out", "report.html", "--figures", "figures")
    assert done.returncode == 0, done.stderr
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert_mentions(page, "Expected word preferred", "percentage of sentences")
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
    assert_mentions(strict.stdout, "without bias", "2 rows")


def test_its_package_is_in_the_manifest_and_named_if_it_is_missing(folder: Path, tmp_path: Path) -> None:
    project = tomllib.loads((EXAMPLES / "tiltmeter-blanks" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    package = {"package": project["name"], "version": project["version"]}
    manifest = json.loads((folder / "both" / "manifest.json").read_text(encoding="utf-8"))
    assert [entry["components"] for entry in manifest["data"]] == [
        {part: {"name": "blanks", **package} for part in ("form", "benchmark", "measures")}
    ]
    shutil.copytree(folder / "both", tmp_path / "both")
    checked = run(tmp_path, "check", "both", "--max", "blanks.blank score distance 50")
    assert checked.returncode == 2
    assert_mentions(checked.stderr, f"{project['name']} {project['version']}", "not installed")


@pytest.mark.parametrize("form", ["model-card", "lm-eval", "jsonl"])
def test_it_is_exported(folder: Path, form: str) -> None:
    done = run(folder, "export", "both", "--to", form, "--model", "first")
    assert done.returncode == 0, done.stderr
    assert "blank score" in done.stdout or "blank_score" in done.stdout


def test_its_components_conform(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without entry points, which would remain registered for other tests.
    monkeypatch.syspath_prepend(str(EXAMPLES / "tiltmeter-blanks" / "src"))
    form, benchmark, measures = (
        import_module(f"tiltmeter_blanks.{name}") for name in ("form", "benchmark", "measures")
    )
    lines = (folder / "tiltmeter_blanks" / "blanks.jsonl").read_text(encoding="utf-8").splitlines()
    items = [form.BlankItem(**json.loads(line)) for line in lines]
    check_form(form.FORM, items)
    text = TokenizerText(byte_level(), SimpleNamespace(), "causal")
    check_benchmark(benchmark.BENCHMARK, form.FORM, items, [text])
    check_measure(measures, pd.read_parquet(folder / "both" / "scores.parquet"))


def test_the_page_about_extending_shows_this_code() -> None:
    page = (EXAMPLES.parent / "docs" / "how-to" / "extending.md").read_text(encoding="utf-8")
    assert "examples/tiltmeter-blanks" in page
    for name in ("form.py", "benchmark.py", "measures.py", "data.py"):
        assert name in page
