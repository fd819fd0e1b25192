"""Published predictions: the scoring method comes from the file name or from arguments."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.models.tiny import CAUSAL, made
from tests.models.tiny_tokenizers import word_level
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing import check, parse_rule
from tiltmeter.comparing.comparison import compare
from tiltmeter.datasets import load
from tiltmeter.errors import UsageError
from tiltmeter.forms.association import PARTS
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.prediction_run import score_predictions
from tiltmeter.runs.result import Result
from tiltmeter.runs.scoring_methods import FINE_TUNED, infer_gest_kind, infer_scoring_methods

HEAD, LIKELY = "next-sentence", "likelihood"


@pytest.mark.parametrize(
    ("stem", "kind", "answer_type", "protocol"),
    [
        ("bert-base-cased_BertLM_BertNextSentence_en", "masked", HEAD, "published"),
        ("dbmdz_bert-base-german-cased_BertLM_BertNextSentence_de", "masked", HEAD, "published"),
        ("flaubert_flaubert_base_cased_BertLM_BertNextSentence_fr", "masked", HEAD, "published"),
        ("predictions_bert-base-cased_BertNextSentence_BertLM", "masked", HEAD, "published"),
        ("predictions_roberta-base_ModelNSP_RoBERTaLM", "masked", HEAD, FINE_TUNED),
        ("gpt2_GPT2LM_GPT2LM_d_en", "causal", LIKELY, "published"),
        ("dbmdz_german-gpt2_GPT2LM_GPT2LM_d_de", "causal", LIKELY, "published"),
        ("PlanTL-GOB-ES_gpt2-base-bne_GPT2LM_GPT2LM_d_es", "causal", LIKELY, "published"),
        ("gpt2_GPT2LM_GPT2LM_c_en", "causal", LIKELY, "published/c"),
        ("gpt2__GPT2LM_orig_en", "causal", LIKELY, "published/orig"),
        ("gpt2__GPT2LM_e_en", "causal", LIKELY, "published/e"),
        ("THUMT_mGPT__GPT2LM_orig_de", "causal", LIKELY, "published/orig"),
        ("gpt2_GPT2LM_ModelNSP_en", "causal", HEAD, FINE_TUNED),
        ("predictions_gpt2_ModelNSP_GPT2LM", "causal", HEAD, FINE_TUNED),
        ("THUMT_mGPT_GPT2LM_ModelNSP_de", "causal", HEAD, FINE_TUNED),
        ("t5-base_T5LM_ModelNSP_en", "seq2seq", HEAD, FINE_TUNED),
        ("google_mt5-base_mT5LM_ModelNSP_es", "seq2seq", HEAD, FINE_TUNED),
        ("t5-base_T5LM_T5LM_en", "seq2seq", LIKELY, "published"),
        ("google_mt5-base_mT5LM_mT5LM_de", "seq2seq", LIKELY, "published"),
        ("predictions_xlnet-base-cased_ModelNSP_XLNetLM", None, HEAD, FINE_TUNED),
        ("my-own-gpt2", None, LIKELY, "published"),
        ("results_d_en", None, LIKELY, "published"),
    ],
)
def test_scoring_methods_from_file_names(stem: str, kind: str | None, answer_type: str, protocol: str) -> None:
    result = infer_scoring_methods(stem)
    within, between = (result[part] for part in PARTS)
    assert (between.kind, between.answer_type, between.protocol) == (kind, answer_type, protocol)
    # Within sentences all kinds are scored by likelihood, and the case does not matter.
    assert (within.kind, within.answer_type, within.protocol) == (kind, LIKELY, "published")


def test_arguments_override_the_file_name() -> None:
    result = infer_scoring_methods("gpt2_GPT2LM_GPT2LM_c_en", "seq2seq", "in-context/e")
    assert [(way.kind, way.protocol) for way in result.values()] == [
        ("seq2seq", "in-context"),
        ("seq2seq", "in-context/e"),
    ]
    assert infer_scoring_methods("mine", "masked")["intersentence"].answer_type == HEAD
    assert infer_scoring_methods("mine", "causal", FINE_TUNED)["intersentence"].answer_type == HEAD
    assert infer_scoring_methods("mine", "causal")["intersentence"].answer_type == LIKELY


@pytest.mark.parametrize(
    ("folder", "templates", "kind"),
    [
        ("english_mlm", 1, "masked"),
        ("slavic_mlm", 1, "masked"),
        ("english_glm", 1, "causal"),
        ("elsewhere", 4, "masked"),
        ("elsewhere", 2, "causal"),
        ("elsewhere", 1, None),
    ],
)
def test_kinds_of_gest_models(folder: str, templates: int, kind: str | None) -> None:
    assert infer_gest_kind(folder, templates) == kind


def predictions(folder: Path, stem: str, seed: int = 0) -> Path:
    """A file of random predictions for the starter set, in the released format."""
    rng = np.random.default_rng(seed)
    content = {
        part: [
            {"id": candidate.id, "score": float(rng.uniform(0.2, 1.0)) * (candidate.role != "unrelated")}
            for item in load("starter", part, "en")
            for candidate in item.candidates  # type: ignore[union-attr]
        ]
        for part in PARTS
    }
    path = folder / f"{stem}.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def scored(folder: Path, stem: str, seed: int = 0, on: str = "starter:en", **given: str) -> Result:
    path = predictions(folder, stem, seed)
    return score_predictions(path, form="stereotypes-multi", on=on, **given)  # type: ignore[arg-type]


def test_scores_records_manifest_and_output_have_the_method(tmp_path: Path) -> None:
    result = scored(tmp_path, "gpt2_GPT2LM_GPT2LM_c_en")
    assert result.scores.groupby("part")["protocol"].unique().map(list).to_dict() == {
        "intrasentence": ["published"],
        "intersentence": ["published/c"],
    }
    assert {(entry.part, entry.kind, entry.family) for entry in result.manifest.asked} == {
        ("intrasentence", "causal", "likelihood"),
        ("intersentence", "causal", "likelihood"),
    }
    assert {record.kind for record in result.records} == {"causal"}
    (note,) = result.manifest.notes
    assert_mentions(
        note, "gpt2_GPT2LM_GPT2LM_c_en.json", "intrasentence: causal", "protocol published;", "published/c."
    )


def test_unknown_kinds_are_noted(tmp_path: Path) -> None:
    result = scored(tmp_path, "mine")
    assert any("set it with --kind" in note for note in result.manifest.notes)
    assert "unknown model" in result.manifest.notes[0]
    given = scored(tmp_path, "mine", kind="masked", protocol="in-context")
    assert len(given.manifest.notes) == 1
    assert (given.manifest.request["kind"], given.manifest.request["protocol"]) == ("masked", "in-context")
    assert {(entry.kind, entry.protocol) for entry in given.manifest.asked} == {("masked", "in-context")}


def test_a_head_is_compared_with_case_d_only_across_protocols(tmp_path: Path) -> None:
    head, case_d = (
        (stem, scored(tmp_path, stem, seed))
        for seed, stem in enumerate(("THUMT_mGPT_GPT2LM_ModelNSP_en", "THUMT_mGPT_GPT2LM_GPT2LM_d_en"))
    )
    # The methods are equal within sentences; between sentences and pooled they are not.
    result = compare([head, case_d], measures=["SS"])
    assert [entry.part for entry in result.differences] == ["intrasentence"]
    (note,) = result.notes
    assert "2 of 3 pairs" in note
    assert "published/fine-tuned-head, next-sentence" in note
    assert note.endswith("--across protocols.")
    allowed = compare([head, case_d], measures=["SS"], across=["protocols"])
    assert [entry.part for entry in allowed.differences] == ["intrasentence", "intersentence", "overall"]
    assert any(note.startswith("Compared across protocols: ") for note in allowed.notes)
    rules = [parse_rule("no-worse-than", "60")]
    with raises_mentioning(UsageError, "--across protocols"):
        check(head[1], rules, baseline=case_d[1])
    assert len(check(head[1], rules, baseline=case_d[1], across=["protocols"])) == 1


def test_nothing_comparable_is_an_error(tmp_path: Path) -> None:
    head, case_d = (
        (stem, scored(tmp_path, stem, seed, "starter/intersentence:en"))
        for seed, stem in enumerate(("mGPT_GPT2LM_ModelNSP_en", "mGPT_GPT2LM_GPT2LM_d_en"))
    )
    with raises_mentioning(UsageError, "different protocols", "--across protocols."):
        compare([head, case_d])


def test_predictions_are_compared_with_a_run_of_the_same_method(tmp_path: Path) -> None:
    made(CAUSAL["gpt2"]).save_pretrained(tmp_path / "model")
    word_level(bos_token="<s>").save_pretrained(tmp_path / "model")
    run = evaluate(str(tmp_path / "model"), "starter:en", limit=5)
    theirs = scored(tmp_path, "gpt2_GPT2LM_GPT2LM_d_en")
    result = compare([("ours", run), ("theirs", theirs)], measures=["SS"])
    assert [first.part for first in result.differences] == ["intrasentence", "intersentence", "overall"]
    assert not any("ompared" in note for note in result.notes)
    second = scored(tmp_path, "gpt2_GPT2LM_GPT2LM_c_en")
    result = compare([("ours", run), ("other", second)], measures=["SS"])
    assert [first.part for first in result.differences] == ["intrasentence"]
