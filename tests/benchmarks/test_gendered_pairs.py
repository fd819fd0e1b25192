"""Which pairs are asked, and why others are rejected. The sentences are ours."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from tests.benchmarks.made_tokenizers import build_tokenizer
from tests.support.answered import answered
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.benchmark import PartTrials, UnsupportedPart
from tiltmeter.benchmarks.gendered_pairs import NOT_ONE_TOKEN, ask
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.errors import UsageError
from tiltmeter.forms.gendered_pairs import NOT_ONE_WORD, OTHER_LETTER, REPEATED_PAIR, GenderedPairItem
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.questions import Kind

PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] Bol Bola som doma . rád rada Rád Chcela by spal un ##ave ##ný ##ná vstal ##a"
PAIRS = {
    "fine": ("Bol som doma.", "Bola som doma."),
    "same piece": ("Som unavený.", "Som unavená."),
    "again": ("Bol som doma.", "Bola som doma."),
    "longer": ("Bol som doma.", "Bola som doma rada."),
    "two words": ("Bol som rád.", "Bola som rada."),
    "no word": ("Bol som doma.", "Bol som doma."),
    "other letter": ("Rád by som spal.", "Chcela by som spal."),
    "two tokens": ("vstal som.", "vstala som."),
}
ITEMS = [GenderedPairItem(name, "sk", 1 + n, male, female) for n, (name, (male, female)) in enumerate(PAIRS.items())]


def tokenizer() -> PreTrainedTokenizerFast:
    return build_tokenizer(PIECES.split())


def ask_items(items: list[GenderedPairItem], kind: Kind = "masked", protocol: str = "published") -> PartTrials:
    text = TokenizerText(tokenizer(), SimpleNamespace(), kind)
    return ask("all", items, text, protocol=protocol)


def test_pairs_are_filtered_as_in_the_paper() -> None:
    asked = ask_items(ITEMS)
    assert [trial.item.id for trial in asked.trials] == ["fine", "same piece"]
    assert {skip.item: skip.reason for skip in asked.skipped} == {
        "again": REPEATED_PAIR,
        "longer": NOT_ONE_WORD,
        "two words": NOT_ONE_WORD,
        "no word": NOT_ONE_WORD,
        "other letter": OTHER_LETTER,
        "two tokens": NOT_ONE_TOKEN,
    }


def test_every_pair_is_either_asked_or_counted_once() -> None:
    asked = ask_items(ITEMS)
    actual = Counter([*(trial.item.id for trial in asked.trials), *(skip.item for skip in asked.skipped)])
    assert actual == Counter(PAIRS.keys())


def test_the_two_forms_are_compared_in_their_place(bert: Any) -> None:
    asked = ask_items(ITEMS)
    actual = [rows[0] for _, rows in answered(asked, MaskedAnswerer(bert, torch.device("cpu")))]
    assert [score.candidate for score in actual] == ["Bol/Bola", "unavený./unavená."]
    for score, masked, male, female in zip(
        actual, ("[MASK] som doma .", "[UNK] un ##ave [MASK] ."), ("Bol", "##ný"), ("Bola", "##ná"), strict=True
    ):
        ids = tokenizer().convert_tokens_to_ids(["[CLS]", *masked.split(), "[SEP]"])
        with torch.no_grad():
            logits = bert(torch.tensor([ids])).logits[0, ids.index(4)].double()
        log_probs = torch.log_softmax(logits, dim=-1)
        male_id, female_id = tokenizer().convert_tokens_to_ids([male, female])
        assert score.score == pytest.approx(float(log_probs[male_id] - log_probs[female_id]), abs=1e-5)


def test_causal_models_compare_whole_sentences(gpt2: Any) -> None:
    asked = ask_items(ITEMS, "causal")
    assert (asked.kind, asked.protocol) == ("causal", "whole-sentence")
    # The filters that do not depend on tokens are the same.
    assert [trial.item.id for trial in asked.trials] == ["fine", "same piece", "two tokens"]
    for name, (score,) in answered(asked, CausalAnswerer(gpt2, torch.device("cpu"))):
        sums = []
        for sentence in PAIRS[name]:
            ids = tokenizer()(sentence)["input_ids"][:-1]
            with torch.no_grad():
                table = torch.log_softmax(gpt2(torch.tensor([ids])).logits[0].double(), dim=-1)
            sums.append(sum(float(table[i - 1, ids[i]]) for i in range(1, len(ids))))
        assert score.score == pytest.approx(sums[0] - sums[1], abs=1e-4)


def test_encoder_decoders_are_not_asked() -> None:
    with raises_mentioning(UnsupportedPart, "gendered pairs", "encoder-decoders"):
        ask_items(ITEMS, "seq2seq")


def test_there_is_one_protocol() -> None:
    with raises_mentioning(UsageError, "'in-context'", "GEST's pairs", "published"):
        ask_items(ITEMS, protocol="in-context")
