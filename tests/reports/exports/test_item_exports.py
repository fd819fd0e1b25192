"""Exports with a row or a sample for each item."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.reports.made import association, gest
from tests.runs.made import association_scores, run
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.reports.exports import FORMATS, ExportOptions
from tiltmeter.reports.exports.item_rows import list_item_rows
from tiltmeter.runs.manifest import UnscoredItem
from tiltmeter.runs.result import Result

RUN = association(["maker/one"], "starter:en")


def read_items(result: Result, model: str | None = None) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(FORMATS["items"](result, ExportOptions(model=model)))))


def test_the_items_give_the_measures_of_the_run() -> None:
    rows = [row for row in read_items(RUN) if not row["not scored"]]
    assert len(rows) == RUN.scores["item"].nunique()
    for part in ("intrasentence", "intersentence"):
        for measure in ("SS", "LMS"):
            values = [float(row[f"value.{measure}"]) for row in rows if row["part"] == part]
            record = next(r for r in RUN.records if (r.part, r.view, r.measure) == (part, "all", measure))
            assert sum(values) / len(values) == pytest.approx(record.value)
    for row in rows:
        prefers = float(row["score.stereotype"]) > float(row["score.anti-stereotype"])
        assert (float(row["preference"]) > 0) == (row["value.SS"] == "100.0") == prefers
        assert row["bias_type"]
        assert row["text.stereotype"]


def test_texts_are_left_out_without_a_licence() -> None:
    scores = RUN.scores.assign(benchmark="crows-negation")
    texts = RUN.texts
    assert texts is not None
    unlicensed = replace(RUN, scores=scores, texts=texts.assign(benchmark="crows-negation"))
    rows = list(list_item_rows(unlicensed, None))
    assert len(rows) == len(list(list_item_rows(RUN, None)))
    assert not any(name.startswith("text.") for row in rows for name in row)


def test_items_without_a_score_have_a_reason() -> None:
    skipped = (UnscoredItem("maker/one", "starter", "intrasentence", "en", "lost", "It is too long."),)
    result = replace(RUN, manifest=replace(RUN.manifest, skipped=skipped))
    row = read_items(result)[-1]
    assert (row["item"], row["not scored"], row["score.stereotype"]) == ("lost", "It is too long.", "")
    samples = json.loads(FORMATS["inspect"](result, ExportOptions()))["samples"]
    assert (samples[-1]["scores"], samples[-1]["metadata"]) == ({}, {"not scored": "It is too long."})


def test_one_model_is_selected() -> None:
    two = run(association_scores("maker/one", seed=1), association_scores("maker/two", seed=2))
    assert {row["model"] for row in read_items(two)} == {"maker/one", "maker/two"}
    assert {row["model"] for row in read_items(two, "maker/two")} == {"maker/two"}
    with raises_mentioning(UsageError, "--model"):
        FORMATS["inspect"](two, ExportOptions())


@pytest.mark.parametrize("result", [RUN, gest(["maker/one"])], ids=["association", "gest"])
def test_an_inspect_log_has_all_items_and_measures(result: Result) -> None:
    log = json.loads(FORMATS["inspect"](result, ExportOptions()))
    assert (log["version"], log["status"]) == (2, "success")
    identifiers = [sample["id"] for sample in log["samples"]]
    assert len(set(identifiers)) == len(identifiers) == log["results"]["total_samples"]
    assert log["eval"]["dataset"]["sample_ids"] == identifiers
    exported = {
        (score["name"], name): metric["value"]
        for score in log["results"]["scores"]
        for name, metric in score["metrics"].items()
    }
    for record in result.records:
        if record.view == "all" and record.interval is not None:
            place = f"{record.benchmark}/{record.part}:{record.language} ({record.protocol})"
            assert exported[place, record.measure] == pytest.approx(record.value)


def test_inspect_reads_the_log(tmp_path: Path) -> None:
    log_module = pytest.importorskip("inspect_ai.log", reason="inspect_ai is not installed: pip install inspect_ai")
    path = tmp_path / "log.json"
    path.write_text(FORMATS["inspect"](RUN, ExportOptions()), encoding="utf-8")
    log = log_module.read_eval_log(str(path))
    assert log.status == "success"
    assert len(log.samples) == len(read_items(RUN))
    score = next(score for score in log.results.scores if "intrasentence:en" in score.name)
    record = next(r for r in RUN.records if (r.part, r.view, r.measure) == ("intrasentence", "all", "SS"))
    assert score.metrics["SS"].value == pytest.approx(record.value)
    assert log.samples[0].scores["SS"].as_float() in (0.0, 50.0, 100.0)
    log_module.write_eval_log(log, str(tmp_path / "log.eval"))
    assert len(log_module.read_eval_log(str(tmp_path / "log.eval")).samples) == len(log.samples)
