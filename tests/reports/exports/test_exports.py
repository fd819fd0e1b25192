import json
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from huggingface_hub import EvalResultEntry, ModelCard, parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results

from tests.runs.made import association_scores, chosen_scores, half_sensible_scores, pair_scores, run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.reports import exports
from tiltmeter.reports.exports import FORMATS, ExportOptions
from tiltmeter.reports.exports.to_lm_eval import compute_standard_error

RUN = run(association_scores("maker/one", seed=1), association_scores("maker/one", language="de", seed=2))
TWO = run(association_scores("maker/one", seed=1), association_scores("maker/two", seed=2))


def test_every_module_with_an_export_is_a_format_and_documented() -> None:
    folder = Path(exports.__file__).parent
    written = [path for path in folder.glob("*.py") if re.search("^def export", path.read_text(), re.MULTILINE)]
    assert {path.stem.removeprefix("to_").replace("_", "-") for path in written} == set(FORMATS)
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "exports.md").read_text(encoding="utf-8")
    assert set(re.findall("^[|] `(.+?)` [|]", page, re.MULTILINE)) == set(FORMATS)


def test_the_model_card_is_read_back_by_the_hubs_library() -> None:
    text = FORMATS["model-card"](RUN, ExportOptions())
    card = ModelCard(text)
    name, results = model_index_to_eval_results(yaml.safe_load(text.strip("-\n"))["model-index"])
    assert name == "one"
    assert len(results) == 2 * 3 * 5
    assert card.data.eval_results is not None
    names = {"ss", "ss_balanced_by_bias_type", "ss_as_published", "lms", "icat"}
    assert {result.metric_type for result in card.data.eval_results} == names
    value = next(
        r.value for r in RUN.records if (r.view, r.part, r.language, r.measure) == ("all", "overall", "de", "SS")
    )
    entry = next(r for r in results if (r.dataset_split, r.dataset_config, r.metric_type) == ("overall", "de", "ss"))
    assert entry.metric_value == pytest.approx(value, abs=1e-4)
    assert entry.task_type == "fill-mask"
    assert "95% interval" in (entry.metric_name or "")
    assert entry.source_url


def test_a_card_with_text_keeps_it() -> None:
    text = FORMATS["model-card"](RUN, ExportOptions())
    card = ModelCard(f"{text}\n# A model\n\nSome words.\n")
    assert card.text.strip().startswith("# A model")


def test_the_hubs_eval_results_are_read_back() -> None:
    text = FORMATS["hf-eval-results"](RUN, ExportOptions(dataset_id="maker/stereoset"))
    entries = parse_eval_result_entries(yaml.safe_load(text))
    assert all(isinstance(entry, EvalResultEntry) for entry in entries)
    assert len({(entry.dataset_id, entry.task_id) for entry in entries}) == len(entries) == 30
    first = entries[0]
    assert (first.dataset_id, first.task_id) == ("maker/stereoset", "intrasentence_de_lms")
    assert first.date == "2026-01-02T03:04:05+00:00"
    assert isinstance(first.value, float)
    assert first.notes


def test_data_sets_that_the_hub_has_need_no_id() -> None:
    table = pair_scores().assign(benchmark="crows-pairs")
    text = FORMATS["hf-eval-results"](run(table, family="pairs"), ExportOptions())
    assert {entry["dataset"]["id"] for entry in yaml.safe_load(text)} == {"nyu-mll/crows_pairs"}


def test_the_harness_layout() -> None:
    content = json.loads(FORMATS["lm-eval"](RUN, ExportOptions()))
    tasks = set(content["results"])
    assert "stereoset_intrasentence_en" in tasks
    for key in ("configs", "versions", "n-shot", "higher_is_better", "n-samples", "group_subtasks"):
        assert set(content[key]) == tasks
    task = content["results"]["stereoset_overall_en"]
    assert {"name", "alias", "sample_len", "ss,none", "ss_stderr,none"} <= task.keys()
    assert task["sample_len"] == 120
    assert content["higher_is_better"]["stereoset_overall_en"] == {
        "lms": True,
        "ss": None,
        "ss_as_published": None,
        "ss_balanced_by_bias_type": None,
        "icat": True,
    }
    assert content["model_name"] == "maker/one"
    assert isinstance(content["date"], float)


SAMPLE = run(
    association_scores("maker/one", seed=1),
    data=[
        {"benchmark": "stereoset", "part": part, "language": "en", "items": 60, "available": available}
        for part, available in (("intrasentence", 2106), ("intersentence", 2123))
    ],
)


def test_a_sample_is_called_a_sample() -> None:
    content = json.loads(FORMATS["lm-eval"](SAMPLE, ExportOptions()))
    assert content["n-samples"] == {
        "stereoset_intrasentence_en": {"original": 2106, "effective": 60},
        "stereoset_intersentence_en": {"original": 2123, "effective": 60},
        "stereoset_overall_en": {"original": 4229, "effective": 120},
    }
    for form, options in (
        ("model-card", ExportOptions()),
        ("hf-eval-results", ExportOptions(dataset_id="maker/stereoset")),
    ):
        text = " ".join(FORMATS[form](SAMPLE, options).split())
        assert text.count("60 of 2,106 items") == 5  # LMS, three versions of SS, and ICAT
        assert text.count("120 of 4,229 items") == 5
    whole = json.loads(FORMATS["lm-eval"](RUN, ExportOptions()))["n-samples"]
    assert whole["stereoset_overall_en"] == {"original": 120, "effective": 120}
    assert "a sample of" not in FORMATS["model-card"](RUN, ExportOptions())


def test_verdicts_go_along() -> None:
    biased = run(chosen_scores("maker/one", 62.0, n=400))
    deciding = next(r for r in biased.records if r.verdict is not None and (r.part, r.view) == ("overall", "all"))
    assert deciding.verdict is not None
    words = deciding.verdict.words
    content = json.loads(FORMATS["lm-eval"](biased, ExportOptions()))
    assert content["verdicts"]["stereoset_overall_en"] == {"ss": words}
    assert content["configs"]["stereoset_overall_en"]["metadata"]["kind"] == "masked"
    assert content["configs"]["stereoset_overall_en"]["metadata"]["family"] == "likelihood"
    for form, options in (
        ("model-card", ExportOptions()),
        ("hf-eval-results", ExportOptions(dataset_id="maker/stereoset")),
    ):
        assert words in " ".join(FORMATS[form](biased, options).split())
    senseless = run(chosen_scores("maker/one", 62.0, n=400, sense=False))
    assert_mentions(FORMATS["model-card"](senseless, ExportOptions()), "not interpretable", "LMS 50")


def test_the_harness_can_print_it() -> None:
    reason = "the harness is not here: pip install lm_eval"
    pytest.importorskip("pytablewriter", reason=reason)
    utils = pytest.importorskip("lm_eval.utils", reason=reason)
    table = utils.make_table(json.loads(FORMATS["lm-eval"](RUN, ExportOptions())))
    assert "stereoset_overall_en" in table
    assert "±" in table


def test_standard_errors() -> None:
    pairs = run(pair_scores(), family="pairs")
    cps = next(record for record in pairs.records if record.measure == "CPS")
    assert compute_standard_error(cps) == cps.standard_error
    icat = next(record for record in RUN.records if record.measure == "ICAT")
    assert icat.low is not None
    assert icat.high is not None
    assert icat.standard_error is None
    assert compute_standard_error(icat) == pytest.approx((icat.high - icat.low) / 3.92, rel=1e-3)
    ties = next(record for record in RUN.records if record.measure == "ties")
    assert compute_standard_error(ties) == "N/A"


def test_all_records_as_lines() -> None:
    lines = FORMATS["jsonl"](TWO, ExportOptions()).splitlines()
    assert len(lines) == len(TWO.records)
    assert json.loads(lines[0])["measure"] == "LMS"
    lines = FORMATS["jsonl"](TWO, ExportOptions(model="maker/two")).splitlines()
    assert {json.loads(line)["model"] for line in lines} == {"maker/two"}


@pytest.mark.parametrize(
    ("form", "options", "parts"),
    [
        ("model-card", ExportOptions(), ["2 models", "--model: maker/one, maker/two"]),
        ("lm-eval", ExportOptions(model="maker/tow"), ["'maker/tow'", "did you mean maker/two?"]),
        ("hf-eval-results", ExportOptions(model="maker/one"), ["stereoset", "--dataset-id"]),
        ("hf-eval-results", ExportOptions(model="maker/one", dataset_id="stereoset"), ["--dataset-id stereoset"]),
    ],
)
def test_what_cannot_be_exported(form: str, options: ExportOptions, parts: list[str]) -> None:
    with raises_mentioning(UsageError, *parts):
        FORMATS[form](TWO, options)


@pytest.mark.parametrize(
    "scores",
    [
        chosen_scores("maker/one", {"intrasentence": 60.0, "intersentence": 40.0}, n=600),
        half_sensible_scores("maker/one", n=600),
    ],
    ids=["contradictory", "partly uninterpretable"],
)
def test_numbers_that_are_judged_part_by_part_are_exported_by_part(scores: pd.DataFrame) -> None:
    results = json.loads(FORMATS["lm-eval"](run(scores), ExportOptions()))["results"]
    assert {"ss,none", "icat,none"} <= results["stereoset_intrasentence_en"].keys()
    pooled = {name.split(",")[0] for name in results["stereoset_overall_en"]}
    assert "lms" in pooled
    assert not {"ss", "icat", "ss_as_published", "ss_balanced_by_bias_type"} & pooled


def test_all_numbers_of_an_uninterpretable_bias_have_its_verdict() -> None:
    records = run(chosen_scores("maker/one", n=600, sense=False))
    verdicts = json.loads(FORMATS["lm-eval"](records, ExportOptions()))["verdicts"]["stereoset_overall_en"]
    assert {name for name, words in verdicts.items() if "not interpretable" in words} >= {"ss", "icat"}
    assert "lms" not in verdicts
