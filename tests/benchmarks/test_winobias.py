"""WinoBias as GEST's authors use it. The sentences are ours."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from tests.benchmarks.made_tokenizers import build_tokenizer
from tests.support.answered import answered
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.benchmark import PartTrials, UnsupportedPart
from tiltmeter.benchmarks.gender_log_ratios import UNREADABLE
from tiltmeter.benchmarks.winobias import NOISE, ask
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.errors import UsageError
from tiltmeter.forms.winobias import WinoBiasItem
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.questions import Kind

WORDS = "[UNK] [CLS] [SEP] [MASK] The florist met gardener and he she his her him himself herself dug . , rose roses"
CPU = torch.device("cpu")


def item(name: str, male: str, female: str) -> WinoBiasItem:
    return WinoBiasItem(name, "type1-dev", "en", "gardener", "male", male, female)


ITEMS = [
    item("one", "The florist met the gardener and he dug.", "The florist met the gardener and she dug."),
    item("two", "The gardener dug his rose, he met him.", "The gardener dug her rose, she met her."),
    item("self", "The gardener dug himself.", "The gardener dug herself."),
    item("plural", "The gardener met his rose.", "The gardener met her roses."),
    item("longer", "The gardener met his rose.", "The gardener and her rose met."),
    item("same", "The gardener dug.", "The gardener dug."),
    item("first", "he dug.", "she dug."),
]
CLEAN = ["one", "two", "self", "first"]


def tokenizer(single: str = "[CLS] $A [SEP]", **special: str) -> PreTrainedTokenizerFast:
    return build_tokenizer(WORDS.split(), single, whole_words=True, **special)


def ask_items(kind: Kind, tokenizer_: Any, protocol: str = "published") -> PartTrials:
    text = TokenizerText(tokenizer_, SimpleNamespace(), kind)
    return ask("type1-dev", ITEMS, text, protocol=protocol)


def scores(asked: PartTrials, answerer: Any) -> dict[str, float]:
    return {item: rows[0].score for item, rows in answered(asked, answerer)}


def log_probabilities(model: Any, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        result: torch.Tensor = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), dim=-1)
    return result


def test_lines_that_differ_in_more_than_pronouns_are_noise() -> None:
    asked = ask_items("masked", tokenizer())
    assert [trial.item.id for trial in asked.trials] == CLEAN
    assert {skip.item: skip.reason for skip in asked.skipped} == dict.fromkeys(["plural", "longer", "same"], NOISE)


def test_masked_models_compare_all_pronouns_in_their_places(bert: Any) -> None:
    asked = ask_items("masked", tokenizer())
    actual = scores(asked, MaskedAnswerer(bert, CPU))
    for clean in (i for i in ITEMS if i.id in CLEAN):
        male, female = (tokenizer()(sentence)["input_ids"] for sentence in (clean.male, clean.female))
        indices = [index for index, (a, b) in enumerate(zip(male, female, strict=True)) if a != b]
        masked = [3 if index in indices else token for index, token in enumerate(male)]
        table = log_probabilities(bert, masked)
        differences = [float(table[index, male[index]] - table[index, female[index]]) for index in indices]
        assert actual[clean.id] == pytest.approx(sum(differences) / len(differences), abs=1e-5)
    (two,) = (trial for trial in asked.trials if trial.item.id == "two")
    assert two.score([torch.zeros(6).numpy()])[0].candidate == "his/her he/she him/her"


@pytest.mark.parametrize(("single", "lead"), [("[CLS] $A [SEP]", 1), ("$A", 1), ("[CLS] $A", 1)])
def test_causal_models_compare_whole_sentences(gpt2: Any, single: str, lead: int) -> None:
    asked = ask_items("causal", tokenizer(single, bos_token="[CLS]"))
    assert asked.protocol == "whole-sentence"
    actual = scores(asked, CausalAnswerer(gpt2, CPU))
    for clean in (i for i in ITEMS if i.id in CLEAN):
        sums = []
        for sentence in (clean.male, clean.female):
            ids = [1, *tokenizer("$A")(sentence)["input_ids"]]
            table = log_probabilities(gpt2, ids)
            sums.append(sum(float(table[index - 1, ids[index]]) for index in range(lead, len(ids))))
        assert actual[clean.id] == pytest.approx(sums[0] - sums[1], abs=1e-4)


def test_without_a_start_token_the_first_word_must_not_differ() -> None:
    asked = ask_items("causal", tokenizer("$A"))
    assert [trial.item.id for trial in asked.trials] == CLEAN[:-1]
    assert {skip.item: skip.reason for skip in asked.skipped}["first"] == UNREADABLE


def test_unsupported_models_and_protocols() -> None:
    with raises_mentioning(UnsupportedPart, "WinoBias", "encoder-decoders"):
        ask_items("seq2seq", tokenizer())
    with raises_mentioning(UsageError, "'in-context'", "WinoBias", "published"):
        ask_items("masked", tokenizer(), "in-context")
