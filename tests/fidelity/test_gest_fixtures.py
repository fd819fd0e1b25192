"""Scores of tiny models equal those of GEST's released code, or of a simple reimplementation if it has no numbers."""

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.answered import answered
from tiltmeter.benchmarks import get_benchmark
from tiltmeter.benchmarks.benchmark import PartTrials
from tiltmeter.datasets import load
from tiltmeter.forms.gest import TEMPLATES, GestItem
from tiltmeter.forms.winobias import WinoBiasItem
from tiltmeter.models.checkpoint_model import CheckpointModel, open_model

FILES = [
    *((template, model) for template in (1, 2, 3, 4) for model in ("bert-tiny", "xlmr-tiny")),
    *((template, "gpt2-tiny") for template in (3, 4)),
]

model_at = cache(open_model)


@pytest.fixture(autouse=True)
def _use_it(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))


def scores(model: CheckpointModel, asked: PartTrials) -> dict[str, float]:
    return {item: rows[0].score for item, rows in answered(asked, model.get_answerer(asked.kind))}


def put(model: CheckpointModel, form: str, part: str, items: list[Any]) -> PartTrials:
    return get_benchmark(form).ask(part, items, model.text, protocol="published")


@pytest.mark.parametrize(("template", "name"), FILES)
def test_scores_equal_those_of_the_released_code(template: int, name: str, fixtures_dir: Path) -> None:
    expected = json.loads((fixtures_dir / f"expected/gest-template{template}-{name}-en.json").read_text())
    items = [item for item in load("gest-1.0", None, "en") if item.id in expected]
    model = model_at(str(fixtures_dir / name))
    asked = put(model, "gest", f"template-{template}", items)
    found = {item: score / math.log(10) for item, score in scores(model, asked).items()}
    assert len(expected) == 120
    assert found.keys() == {item for item, number in expected.items() if number is not None}
    assert {skip.item for skip in asked.skipped} == {item for item, number in expected.items() if number is None}
    for item, number in found.items():
        assert number == pytest.approx(expected[item], abs=1e-5), item


def logits(model: CheckpointModel, **inputs: list[int]) -> torch.Tensor:
    loaded = model.get_answerer(model.kind).model  # type: ignore[attr-defined]
    with torch.no_grad():
        found: torch.Tensor = loaded(**{name: torch.tensor([ids]) for name, ids in inputs.items()}).logits[0].double()
    return found


@pytest.mark.parametrize("part", TEMPLATES)
def test_an_encoder_decoder_is_read_after_its_sentinel(part: str, fixtures_dir: Path) -> None:
    model = model_at(str(fixtures_dir / "t5-tiny"))
    said, *words = {
        "template-1": ('<extra_id_0> said: "{}"', "He", "She"),
        "template-2": ('The <extra_id_0> said: "{}"', "man", "woman"),
        "template-3": ('"{}", <extra_id_0> said.', "he", "she"),
        "template-4": ('"{}", the <extra_id_0> said.', "man", "woman"),
    }[part]
    tokenizer = model.text.tokenizer  # type: ignore[attr-defined]
    male, female = (tokenizer(word, add_special_tokens=False)["input_ids"] for word in words)
    assert len(male) == len(female) == 1
    decoder = [0, tokenizer.convert_tokens_to_ids("<extra_id_0>")]
    items = [item for item in load("starter-gest", None, "en") if isinstance(item, GestItem)][::8]
    found = scores(model, put(model, "gest", part, items))
    for item in items:
        source = tokenizer(said.format(item.sentence))["input_ids"]
        last = logits(model, input_ids=source, decoder_input_ids=decoder)[-1]
        assert found[item.id] == pytest.approx(float(last[male[0]] - last[female[0]]), abs=1e-4)


def occupations(part: str) -> list[WinoBiasItem]:
    return [item for item in load("winobias", part, "en") if isinstance(item, WinoBiasItem)][::13]


def test_winobias_masks_the_pronouns(fixtures_dir: Path) -> None:
    model = model_at(str(fixtures_dir / "bert-tiny"))
    tokenizer = model.text.tokenizer  # type: ignore[attr-defined]
    items = occupations("type1-test")
    asked = put(model, "winobias", "type1-test", items)
    found = scores(model, asked)
    assert len(found) + len(asked.skipped) == len(items)
    for item in items:
        if item.id not in found:
            continue
        male, female = (tokenizer(sentence)["input_ids"] for sentence in (item.male, item.female))
        means = []
        for mine, other in ((male, female), (female, male)):
            masked = [tokenizer.mask_token_id if a != b else a for a, b in zip(mine, other, strict=True)]
            log_probs = torch.log_softmax(logits(model, input_ids=masked), dim=-1)
            places = [place for place, token in enumerate(masked) if token == tokenizer.mask_token_id]
            means.append(sum(float(log_probs[place, mine[place]]) for place in places) / len(places))
        assert found[item.id] == pytest.approx(means[0] - means[1], abs=1e-4)


def test_winobias_compares_whole_sentences_of_a_causal_model(fixtures_dir: Path) -> None:
    model = model_at(str(fixtures_dir / "gpt2-tiny"))
    tokenizer = model.text.tokenizer  # type: ignore[attr-defined]
    items = occupations("type2-dev")
    found = scores(model, put(model, "winobias", "type2-dev", items))
    assert len(found) > 25
    for item in items:
        sums = []
        for sentence in (item.male, item.female):
            ids = [model.text.start, *tokenizer(sentence)["input_ids"]]
            log_probs = torch.log_softmax(logits(model, input_ids=ids), dim=-1)
            sums.append(sum(float(log_probs[place - 1, ids[place]]) for place in range(1, len(ids))))
        if item.id in found:
            assert found[item.id] == pytest.approx(sums[0] - sums[1], abs=1e-3)
