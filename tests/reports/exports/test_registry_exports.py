"""Exports to registries and inventories: Every Eval Ever, CycloneDX and BibTeX."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.reports.made import gest
from tests.runs.made import association_scores, chosen_scores, pair_scores, run
from tests.support.messages import raises_mentioning
from tiltmeter.datasets.catalogue import DATASETS
from tiltmeter.datasets.citations import parse_citation
from tiltmeter.datasets.upstream_files import load_repositories
from tiltmeter.errors import UsageError
from tiltmeter.measures import list_measures
from tiltmeter.reports.exports import FORMATS, ExportOptions
from tiltmeter.reports.exports.to_bibtex import MEASURES
from tiltmeter.runs.result import Result

RUN = run(association_scores("maker/one", seed=1), association_scores("maker/one", language="de", seed=2))
CONTRADICTORY = run(chosen_scores("maker/one", {"intrasentence": 60.0, "intersentence": 40.0}, n=600))
RUNS = {"association": RUN, "pairs": run(pair_scores(), family="pairs"), "gest": gest(["maker/one"])}
ROOT = Path(__file__).parents[3]
SCHEMA = "evaleval/every_eval_ever/every_eval_ever/schemas/eval.schema.json"

each_run = pytest.mark.parametrize("result", RUNS.values(), ids=list(RUNS))


def read(form: str, result: Result) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FORMATS[form](result, ExportOptions()))
    return content


def find(content: dict[str, Any], name: str, measure: str) -> dict[str, Any]:
    (found,) = (
        entry
        for entry in content["evaluation_results"]
        if (entry["evaluation_name"], entry["metric_config"]["metric_name"]) == (name, measure)
    )
    return dict(found)


@each_run
def test_every_eval_ever_is_valid(result: Result, mirror: Path) -> None:
    schema = json.loads((mirror / SCHEMA).read_text(encoding="utf-8"))
    jsonschema.validate(read("every-eval-ever", result), schema)


@each_run
def test_every_eval_ever_has_the_required_fields(result: Result) -> None:
    content = read("every-eval-ever", result)
    assert content["schema_version"] == "0.3.0"
    assert {"source_type", "source_organization_name", "evaluator_relationship"} <= content["source_metadata"].keys()
    assert {"deployment_type", "model_availability"} <= content["model_info"]["additional_details"].keys()
    assert content["evaluation_results"]
    identifiers = [entry["evaluation_result_id"] for entry in content["evaluation_results"]]
    assert len(set(identifiers)) == len(identifiers)
    for entry in content["evaluation_results"]:
        metric, score = entry["metric_config"], entry["score_details"]
        assert isinstance(metric["lower_is_better"], bool)
        assert metric["min_score"] <= score["score"]
        assert metric["max_score"] == "Infinity" or score["score"] <= metric["max_score"]
        assert all(isinstance(text, str) for text in score["details"].values())
        interval = score["uncertainty"]["confidence_interval"]
        assert interval["lower"] <= score["score"] <= interval["upper"]


def test_the_score_of_a_measure_with_an_ideal_in_the_middle_is_its_distance() -> None:
    content = read("every-eval-ever", CONTRADICTORY)
    entry = find(content, "stereoset/intersentence:en", "distance of SS from 50")
    assert entry["metric_config"]["lower_is_better"] is True
    assert entry["score_details"]["score"] == pytest.approx(10.0)
    assert entry["score_details"]["details"]["value"] == "40"
    record = next(r for r in CONTRADICTORY.records if (r.part, r.view, r.measure) == ("intersentence", "all", "SS"))
    assert record.low is not None
    assert entry["score_details"]["uncertainty"]["confidence_interval"]["upper"] == pytest.approx(50 - record.low)
    accuracy = find(content, "stereoset/intersentence:en", "LMS")
    assert accuracy["metric_config"]["lower_is_better"] is False
    # The parts contradict each other, so the pooled SS is no result.
    names = {
        entry["evaluation_name"] for entry in content["evaluation_results"] if "SS" in entry["evaluation_result_id"]
    }
    assert "stereoset/overall:en" not in names


def test_the_distance_of_a_ratio_is_on_the_logarithmic_scale() -> None:
    entry = find(read("every-eval-ever", RUNS["gest"]), "starter-gest/template-3:en", "distance of g_s from 1")
    value = float(entry["score_details"]["details"]["value"])
    assert 2 ** entry["score_details"]["score"] == pytest.approx(max(value, 1 / value), rel=1e-4)


@each_run
def test_a_cyclonedx_model_card_has_all_metrics_and_verdicts(result: Result) -> None:
    content = read("cyclonedx", result)
    assert (content["bomFormat"], content["specVersion"]) == ("CycloneDX", "1.6")
    assert re.fullmatch("urn:uuid:[0-9a-f-]{36}", content["serialNumber"])
    component = content["metadata"]["component"]
    assert component["type"] == "machine-learning-model"
    metrics = component["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]
    for record in result.records:
        if record.view == "all" and record.interval is not None:
            (metric,) = (
                metric
                for metric in metrics
                if metric["type"] == record.measure
                and f"/{record.part}:{record.language},"
                in metric["slice"].replace(":", "/all:", "/" not in metric["slice"])
            )
            assert float(metric["value"]) == pytest.approx(record.value, rel=1e-5)
            assert float(metric["confidenceInterval"]["lowerBound"]) == pytest.approx(record.low, rel=1e-5)
    harms = [entry["harms"] for entry in component["modelCard"]["considerations"]["fairnessAssessments"]]
    verdicts = [r.verdict.short for r in result.records if r.verdict is not None and r.view == "all" and r.interval]
    assert verdicts
    assert all(any(verdict in harm for harm in harms) for verdict in verdicts)
    assert read("cyclonedx", result) == content


@each_run
def test_cyclonedx_validates_the_document(result: Result) -> None:
    reason = "the validator is not installed: pip install cyclonedx-python-lib[json-validation]"
    validation = pytest.importorskip("cyclonedx.validation.json", reason=reason)
    schema = pytest.importorskip("cyclonedx.schema", reason=reason)
    validator = validation.JsonStrictValidator(schema.SchemaVersion.V1_6)
    assert validator.validate_str(FORMATS["cyclonedx"](result, ExportOptions())) is None


def read_bibtex(text: str) -> dict[str, dict[str, str]]:
    """Return the fields of each entry by key; the file must consist of entries."""
    entries = re.findall(r"@\w+\{(\w+),\n((?:  .+\n)+)\}\n", text)
    assert re.sub(r"@\w+\{\w+,\n(?:  .+\n)+\}\n", "", text).strip() == ""
    return {key: dict(re.findall(r"^  (\w+) = \{(.*)\},$", fields, re.MULTILINE)) for key, fields in entries}


def test_bibtex_has_the_data_sets_the_measures_and_tiltmeter() -> None:
    entries = read_bibtex(FORMATS["bibtex"](RUN, ExportOptions()))
    assert set(entries) == {"tiltmeter", "ozturk2023different", "nadeem2021stereoset"}
    assert entries["nadeem2021stereoset"]["author"] == "Moin Nadeem and Anna Bethke and Siva Reddy"
    pairs = run(pair_scores().assign(benchmark="crows-pairs-revised"), family="pairs")
    assert {"nangia2020crows", "pikuliak2023depth"} <= read_bibtex(FORMATS["bibtex"](pairs, ExportOptions())).keys()


def test_the_entry_of_tiltmeter_agrees_with_the_citation_file() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    entry = read_bibtex(FORMATS["bibtex"](RUN, ExportOptions()))["tiltmeter"]
    assert entry["title"] == f"{{{cited['title']}}}"
    assert entry["author"] == f"{{{cited['authors'][0]['name']}}}"


@pytest.mark.parametrize("name", DATASETS)
def test_each_citation_of_a_data_set_is_read_completely(name: str) -> None:
    citation = DATASETS[name].citation
    publications = parse_citation(citation)
    assert len(publications) == len(re.findall(r"\d{4}(, arXiv:[\d.]+)?\)", citation))
    assert publications or name.startswith(("starter", "story"))  # our own sets


def test_papers_of_measures_exist() -> None:
    assert MEASURES.keys() <= load_repositories().keys()
    assert {name for names in MEASURES.values() for name in names} <= list_measures().keys()


def test_a_run_without_an_ideal_has_nothing_for_every_eval_ever() -> None:
    records = [replace(record, ideal=None) for record in RUN.records]
    with raises_mentioning(UsageError, "ideal", "jsonl"):
        FORMATS["every-eval-ever"](replace(RUN, records=records), ExportOptions())
