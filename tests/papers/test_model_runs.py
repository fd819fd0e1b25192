"""Runs of the models of papers: the plan, the dry run, kept runs, and differences from the paper's experiment."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.papers.model_runs.run_choices import RunChoices
from tiltmeter.papers.model_runs.run_plan import plan_runs
from tiltmeter.papers.reproduction import select_numbers

ROW = ("steinborn2022", "--table", "2", "--model", "mBERT", "--language", "de", "--from-models")


def test_each_model_is_one_job_with_all_its_runs(tmp_path: Path) -> None:
    plan = plan_runs(select_numbers("oeztuerk2023", table="7"), RunChoices(dtype="float32"), tmp_path)
    by_name = {entry.model.name: entry for entry in plan.matrix.models}
    assert by_name["THUMT/mGPT"].model.options == {"tokenizer": "google/mt5-base", "dtype": "float32"}
    assert len({entry.folder for entry in plan.matrix.models}) == len(plan.matrix.models)
    assert all(cell in entry.cells for entry, cell in plan.cells.values())
    assert {run.head for run in plan.missing} == {True}
    assert all("--head-path" in reason for reason in plan.missing.values())
    assert not list(tmp_path.iterdir())


def test_the_tokenizer_of_mgpt_is_known_unless_the_user_names_another_model_or_tokenizer(tmp_path: Path) -> None:
    hub, folder = "THUMT/mGPT", "models/mgpt"
    assert RunChoices().get_tokenizer(hub) == "google/mt5-base"
    assert RunChoices().get_tokenizer("gpt2") == ""
    assert RunChoices(model_paths={hub: folder}).get_tokenizer(hub) == ""
    named = RunChoices(model_paths={hub: folder}, tokenizers={hub: "models/mt5"}, articles={"en": "a", "de": "b"})
    plan = plan_runs(select_numbers("oeztuerk2023", table="7", model="mGPT-2 (NSP)"), named, tmp_path)
    (entry,) = plan.matrix.models
    assert entry.model.training is not None
    assert entry.model.training["tokenizer"] == "models/mt5"


def test_a_perturbed_run_has_its_own_folder(tmp_path: Path) -> None:
    plan = plan_runs(select_numbers("steinborn2022", table="3", model="BERT"), RunChoices(), tmp_path)
    (entry,) = plan.matrix.models
    assert [cell.folder for cell in entry.cells] == [
        "crows-pairs.en.published",
        "crows-pairs.en.published.drop-final-character",
    ]


def test_runs_are_kept_and_their_differences_are_printed(command: Any, masked: str, tmp_path: Path) -> None:
    options = ("--model-path", f"bert-base-multilingual-cased={masked}", "--device", "cpu", "--limit", "5")
    out = tmp_path / "runs"
    dry = command(*ROW, *options, "--out", str(out), "--dry-run")
    assert dry.exit_code == 0
    assert_mentions(dry.stdout, masked, "gender-pairs:de, published", "0 of 1 cells complete", "5 items")
    assert not out.exists()

    first = command(*ROW, *options, "--out", str(out), "--json")
    (manifest,) = out.glob("*/gender-pairs.de.published/manifest.json")
    made = manifest.stat().st_mtime_ns
    numbers = json.loads(first.stdout)["numbers"]
    assert all(number["ours"] is not None for number in numbers if number["kind"] == "value")
    notes = {number["note"] for number in numbers if number["status"] == "differs"}
    assert_mentions(notes.pop(), f"loaded from {masked}", "at most 5 items")

    again = command(*ROW, *options, "--out", str(out), "--json")
    assert json.loads(again.stdout)["numbers"] == numbers
    assert manifest.stat().st_mtime_ns == made


def test_a_failed_run_is_reported_with_its_numbers(command: Any, tmp_path: Path) -> None:
    path = f"bert-base-multilingual-cased={tmp_path}"
    result = command(*ROW, "--model-path", path, "--out", str(tmp_path / "runs"), "--json")
    assert result.exit_code == 0
    numbers = json.loads(result.stdout)["numbers"]
    assert {number["status"] for number in numbers} == {"not available"}
    assert_mentions(numbers[0]["note"], "bert-base-multilingual-cased on gender-pairs:de", str(tmp_path))


@pytest.mark.parametrize("option", [("--dtype", "float32"), ("--dry-run",), ("--engine", "ray"), ("--limit", "3")])
def test_options_of_runs_need_from_models(command: Any, option: tuple[str, ...]) -> None:
    with raises_mentioning(UsageError, option[0], "--from-models"):
        command("steinborn2022", *option)


def test_options_of_engines_are_checked(command: Any) -> None:
    with raises_mentioning(UsageError, "--partition", "slurm"):
        command(*ROW, "--partition", "gpu")
