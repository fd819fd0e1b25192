"""`tiltmeter run` with a trained head: it answers next-sentence questions, and its base model all others."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import tiltmeter
from tests.support.messages import raises_mentioning
from tests.training.made_task import make_model, make_pairs
from tiltmeter.errors import ModelError
from tiltmeter.models.local_opener import open_local_model
from tiltmeter.reports.model_facts import describe_model
from tiltmeter.runs.manifest import build_model_entry
from tiltmeter.training.head_training import TrainingOptions, train_next_sentence
from tiltmeter.training.training_recipe import TrainingRecipe

BETWEEN = "the rose is old ."
CANDIDATES = {
    "stereotype": "a tulip near the lawn .",
    "anti-stereotype": "the hedge is with a spade .",
    "unrelated": "the soup is near the oven .",
}


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("head")
    pairs = make_pairs(folder / "pairs", 800)
    recipe = TrainingRecipe(accumulation=1, batch=32, core_rate=3e-3, passes=2, fresh_negatives=False)
    options = TrainingOptions(checkpoints=1)
    base = make_model("llama", folder / "base")
    train_next_sentence(base, pairs, folder / "head", recipe=recipe, options=options, cpu=True)
    return folder / "head"


@pytest.fixture
def items(tmp_path: Path) -> Path:
    common = {"language": "en", "bias_type": "gender", "target": "rose", "target_term": "rose"}
    within = dict(zip(CANDIDATES, ["old", "near", "soup"], strict=True))
    rows = [
        {"id": "a", "part": "intersentence", **common, "context": BETWEEN, "candidates": CANDIDATES},
        {"id": "b", "part": "intrasentence", **common, "context": "the rose is BLANK .", "candidates": within},
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_head_answers_next_sentence_questions_and_its_base_all_others(head: Path, items: Path) -> None:
    result = tiltmeter.evaluate(str(head), str(items), device="cpu")
    alone = tiltmeter.evaluate(str(head.parent / "base"), str(items), device="cpu")
    scores = result.scores.set_index(["item", "role"])["score"]
    model: Any = open_local_model(str(head), device="cpu")
    module = model.get_answerer("next-sentence").model
    for role, text in CANDIDATES.items():
        ids = torch.tensor([model.tokenizer(f"{BETWEEN}{model.tokenizer.eos_token}{text}")["input_ids"]])
        assert model.tokenizer.eos_token_id in ids[0].tolist()[1:-1]
        with torch.inference_mode():
            logits = module(ids, torch.tensor([ids.shape[1]]))["logits"][0]
        assert scores["a", role] == pytest.approx(
            math.exp(logits[1]) / sum(math.exp(value) for value in logits), rel=1e-4
        )
    expected = alone.scores.set_index(["item", "role"])["score"]
    for role in CANDIDATES:
        assert scores["b", role] == expected["b", role]
        assert scores["a", role] != expected["a", role]
    (entry,) = [model.details for model in result.manifest.models]
    assert entry["base"] == "../base"
    assert entry["head"]["design"] == "recommended"
    (base_entry,) = [model.details for model in alone.manifest.models]
    assert entry["answers"]["causal"] == base_entry["answers"]["causal"]
    assert set(entry["answers"]) == {"causal", "next-sentence"}
    kinds = {record.part: record for record in result.records}
    assert {"intrasentence", "intersentence"} <= set(kinds)


def test_two_devices_answer_as_one(head: Path, items: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    between = tmp_path / "between.jsonl"  # only questions for the head
    between.write_text(items.read_text().splitlines()[0])
    one = tiltmeter.evaluate(str(head), str(between), device="cpu").scores["score"]
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "empty"))  # without stored answers
    two = tiltmeter.evaluate(str(head), str(between), devices=("cpu", "cpu")).scores["score"]
    assert two.tolist() == pytest.approx(one.tolist(), rel=1e-5)


def test_a_head_answers_without_speed_ups_and_with_an_explicit_kind(head: Path, items: Path) -> None:
    expected = tiltmeter.evaluate(str(head), str(items), device="cpu").scores["score"].tolist()
    plain = tiltmeter.evaluate(str(head), str(items), device="cpu", plain=True, kind="causal")
    assert plain.scores["score"].tolist() == pytest.approx(expected, rel=1e-4)
    with raises_mentioning(ModelError, "causal", "as masked"):
        tiltmeter.evaluate(str(head), str(items), device="cpu", kind="masked")


def test_a_head_cannot_be_used_with_a_chat_template(head: Path, items: Path) -> None:
    with raises_mentioning(ModelError, "chat template"):
        tiltmeter.evaluate(str(head), str(items), device="cpu", chat_template=True)


def test_a_report_names_the_base_model(head: Path, items: Path) -> None:
    (entry,) = [model.details for model in tiltmeter.evaluate(str(head), str(items), device="cpu").manifest.models]
    assert describe_model(build_model_entry(entry))["next-sentence head"] == "recommended, trained from ../base"


def test_comparing_a_head_with_its_base_gives_a_note(head: Path, items: Path, tmp_path: Path) -> None:
    for name in ("head", "base"):
        tiltmeter.evaluate(str(head.parent / name), str(items), device="cpu", out=str(tmp_path / name))
    comparison = tiltmeter.compare([tmp_path / "head", tmp_path / "base"])
    assert "different protocols" in " ".join(comparison.notes)
    assert {difference.part for difference in comparison.differences} == {"intrasentence"}
