"""The texts in a run's folder: written by all types of runs, read by reports and comparisons."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.models.tiny import CAUSAL, made
from tests.models.tiny_tokenizers import word_level
from tests.reports.made import file_of
from tests.reports.test_report_page import unpacked
from tiltmeter.comparing.comparison import compare
from tiltmeter.datasets import load
from tiltmeter.reports.comparison_page import render_comparison_page
from tiltmeter.reports.item_texts import load_item_texts
from tiltmeter.reports.report_page import make_report
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.portions import load_portions
from tiltmeter.runs.prediction_run import score_predictions
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import build_item_table, get_item_texts
from tiltmeter.runs.translation_run import score_translations

ITEMS: list[dict[str, Any]] = [
    {
        "id": f"n-{number}",
        "part": "intrasentence",
        "language": "en",
        "bias_type": "profession",
        "target": "nurse",
        "context": f"the nurse number {number} was BLANK .",
        "candidates": {"stereotype": "kind", "anti-stereotype": f"gruff{number}", "unrelated": "wooden"},
    }
    for number in range(6)
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folders = []
    for seed in (1, 2):
        folder = tmp_path_factory.mktemp("models") / f"causal-{seed}"
        made(CAUSAL["gpt2"], seed).save_pretrained(folder)
        word_level(bos_token="<s>").save_pretrained(folder)
        folders.append(str(folder))
    return folders


def test_results_do_not_need_the_data_file(models: list[str], tmp_path: Path) -> None:
    file = file_of(tmp_path, ITEMS)
    first = evaluate(models[0], str(file), out=tmp_path / "run-0")
    # A second run with all preferences reversed.
    other = {"stereotype": "anti-stereotype", "anti-stereotype": "stereotype"}
    scores = first.scores.assign(role=first.scores["role"].replace(other))
    Result(scores, first.records, first.manifest, first.texts).save(tmp_path / "run-1")
    file.rename(tmp_path / "elsewhere.jsonl")
    runs = [(f"run-{number}", Result.load(tmp_path / f"run-{number}")) for number in range(2)]
    html, _ = make_report(runs[:1])
    assert ["the nurse number 3 was BLANK .", "kind", "gruff3", "wooden"] in unpacked(html)["texts"]
    assert "not where it was" not in html
    comparison = compare(runs)
    page = render_comparison_page(comparison)
    (leaning,) = [result for result in comparison.differences if result.quantity.name == "SS"]
    (_, item), _ = leaning.list_disagreements()[0]
    assert f"the nurse number {item.removeprefix('n-')} was BLANK ." in page
    assert f"gruff{item.removeprefix('n-')}" in page


def test_contents_of_the_table(models: list[str], tmp_path: Path) -> None:
    evaluate(models[0], ["starter:en,de", "starter-gest"], limit=3, out=tmp_path / "run")
    table = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert list(table.columns) == ["benchmark", "part", "language", "item", "form", "context", "texts"]
    counts = table.groupby(["benchmark", "part", "language", "form"], sort=False).size().to_dict()
    assert counts == {
        ("starter", "intrasentence", "en", "association"): 3,
        ("starter", "intersentence", "en", "association"): 3,
        ("starter", "intrasentence", "de", "association"): 3,
        ("starter", "intersentence", "de", "association"): 3,
        ("starter-gest", "all", "en", "gest"): 3,  # once, although asked in two templates
    }
    items = {item.id: item for item in load("starter", "intersentence", "de")}
    for row in table[(table["part"] == "intersentence") & (table["language"] == "de")].itertuples():
        item = items[row.item]
        assert row.context == item.context
        assert list(row.texts) == [{"role": c.role, "text": c.sentence} for c in item.candidates]
    sentences = {item.id: item.sentence for item in load("starter-gest", None, "en")}
    of_gest = table[table["benchmark"] == "starter-gest"]
    assert {row.item: row.context for row in of_gest.itertuples()}.items() <= sentences.items()
    assert [len(texts) for texts in of_gest["texts"]] == [0, 0, 0]


def test_texts_are_those_that_were_measured(models: list[str]) -> None:
    result = evaluate(models[0], "starter-pairs:en", limit=2, perturb="drop-final-character")
    assert result.texts is not None
    complete = {item.id: item.more for item in load("starter-pairs", None, "en")}
    texts = get_item_texts(result.texts)
    assert len(texts) == 2
    assert {item: text.texts["more"] for item, text in texts.items()} == {item: complete[item][:-1] for item in texts}


def test_runs_with_different_items_of_one_data_set(models: list[str]) -> None:
    few, all_of_them = (evaluate(models[0], "starter-pairs:en", limit=limit) for limit in (2, None))
    for results in ([few, all_of_them], [all_of_them, few]):
        assert len(load_item_texts(results, {})[0]["starter-pairs", "en"]) == 40


def test_items_of_overlapping_specifications_occur_once() -> None:
    twice = [*load_portions("starter/intrasentence:en"), *load_portions("starter:en")]
    assert len(build_item_table(twice)) == 80


def test_a_run_of_published_predictions(tmp_path: Path) -> None:
    items = load("starter", "intrasentence", "en")
    scores = [{"id": c.id, "score": n / 7} for item in items for n, c in enumerate(item.candidates)]
    (tmp_path / "made.json").write_text(json.dumps({"intrasentence": scores}), encoding="utf-8")
    on = "starter/intrasentence:en"
    score_predictions(tmp_path / "made.json", form="stereotypes-multi", on=on, out=tmp_path / "run")
    kept = Result.load(tmp_path / "run").texts
    assert kept is not None
    assert {item: text.context for item, text in get_item_texts(kept).items()} == {
        item.id: item.context for item in items
    }


def test_a_run_of_translations(tmp_path: Path) -> None:
    items = load("starter-gest", None, "en")
    lines = ["from,to", *(f'"{item.sentence}",Bol som doma.' for item in items)]
    (tmp_path / "sk.csv").write_text("\n".join(lines), encoding="utf-8")
    score_translations(tmp_path / "sk.csv", system="X", on="starter-gest-mt:sk", out=tmp_path / "run")
    result = Result.load(tmp_path / "run")
    outcome, missing = load_item_texts([result], {})
    assert {item: text.context for item, text in outcome["starter-gest-mt", "sk"].items()} == {
        item.id: item.sentence for item in items
    }
    assert not missing
    html, _ = make_report([("run", result)])
    assert [items[0].sentence] in unpacked(html)["texts"]


def test_saving_a_run_without_texts_removes_older_texts(models: list[str], tmp_path: Path) -> None:
    result = evaluate(models[0], "starter-pairs:en", limit=2, out=tmp_path / "run")
    Result(result.scores, result.records, result.manifest).save(tmp_path / "run")
    assert Result.load(tmp_path / "run").texts is None
