"""Sentences in frames of their own language, compared with a naive computation."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from tests.benchmarks.made_tokenizers import build_tokenizer
from tests.support.answered import answered
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.benchmark import UnsupportedPart
from tiltmeter.benchmarks.framed_sentences import BEFORE, NO_FRAME
from tiltmeter.benchmarks.gest import ask
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.forms import get_item_form
from tiltmeter.forms.gest import GestItem
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.questions import Kind

CPU = torch.device("cpu")
PIECES = '[PAD] [UNK] [CLS] [SEP] [MASK] " , . Zpívám dobře řekl ##a muž žena sagte der die Ma ##nn Frau ##u Ich singe'


def item(male: str, female: str, sentence: str = "Zpívám dobře") -> GestItem:
    return GestItem("0", "cs", 5, sentence, male_frame=male, female_frame=female)


# The feminine form has one piece more; two words each; three pieces against two.
VERBS = item('"{sentence}", řekl.', '"{sentence}", řekla.')
NOUNS = item('"{sentence}", řekl muž.', '"{sentence}", řekla žena.')
GERMAN = item('"{sentence}", sagte der Mann.', '"{sentence}", sagte die Frau.', "Ich singe")


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return build_tokenizer(PIECES.split(), pad_token="[PAD]")


def text(tokenizer: Any, kind: Kind) -> TokenizerText:
    return TokenizerText(tokenizer, SimpleNamespace(), kind)


def log_probabilities(model: Any, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0].double()
    result: torch.Tensor = torch.log_softmax(logits, dim=-1)
    return result


def masked_sum(model: Any, tokenizer: Any, before: str, words: str, after: str) -> float:
    """Return the sum of log-probabilities of the words' pieces, with the pieces to the right masked as well."""
    lead, pieces, tail = ([*tokenizer(part, add_special_tokens=False)["input_ids"]] for part in (before, words, after))
    total = 0.0
    for shown in range(len(pieces)):
        ids = [2, *lead, *pieces[:shown], *[4] * (len(pieces) - shown), *tail, 3]
        total += float(log_probabilities(model, ids)[1 + len(lead) + shown, pieces[shown]])
    return total


@pytest.mark.parametrize(
    ("asked_item", "before", "male", "female"),
    [
        (VERBS, '"Zpívám dobře",', "řekl", "řekla"),
        (NOUNS, '"Zpívám dobře",', "řekl muž", "řekla žena"),
        (GERMAN, '"Ich singe", sagte', "der Mann", "die Frau"),
    ],
)
def test_masked_models_fill_in_the_words_that_differ(
    bert: Any, tokenizer: Any, asked_item: GestItem, before: str, male: str, female: str
) -> None:
    asked = ask("frame", [asked_item], text(tokenizer, "masked"), protocol="published")
    ((_, (score,)),) = answered(asked, MaskedAnswerer(bert, CPU))
    sums = [masked_sum(bert, tokenizer, before, words, ".") for words in (male, female)]
    assert score.score == pytest.approx(sums[0] - sums[1], abs=1e-5)
    assert score.candidate == f"{male}/{female}"
    assert (asked.kind, asked.protocol) == ("masked", "frames")


@pytest.mark.parametrize("asked_item", [VERBS, NOUNS, GERMAN])
def test_causal_models_compare_the_probabilities_of_both_texts(gpt2: Any, tokenizer: Any, asked_item: GestItem) -> None:
    asked = ask("frame", [asked_item], text(tokenizer, "causal"), protocol="published")
    ((_, (score,)),) = answered(asked, CausalAnswerer(gpt2, CPU))
    sums = []
    for frame in (asked_item.male_frame, asked_item.female_frame):
        ids = tokenizer(frame.replace("{sentence}", asked_item.sentence))["input_ids"][:-1]
        table = log_probabilities(gpt2, ids)
        sums.append(sum(float(table[i - 1, ids[i]]) for i in range(1, len(ids))))
    assert score.score == pytest.approx(sums[0] - sums[1], abs=1e-4)


def test_a_causal_model_must_have_read_the_sentence(tokenizer: Any) -> None:
    spoken_before = item('řekl: "{sentence}".', 'řekla: "{sentence}".')
    asked = ask("frame", [spoken_before, VERBS], text(tokenizer, "causal"), protocol="published")
    assert [skip.reason for skip in asked.skipped] == [BEFORE]
    assert len(ask("frame", [spoken_before], text(tokenizer, "masked"), protocol="published").trials) == 1


def test_items_without_frames_are_listed(tokenizer: Any) -> None:
    bare = GestItem("1", "cs", 5, "Zpívám dobře")
    asked = ask("frame", [bare], text(tokenizer, "masked"), protocol="published")
    assert [(skip.item, skip.reason) for skip in asked.skipped] == [("1", NO_FRAME)]
    with raises_mentioning(UnsupportedPart, "eurogest", "`male_frame`"):
        ask("template-3", [bare], text(tokenizer, "masked"), protocol="published")


def test_encoder_decoders_are_not_asked(tokenizer: Any) -> None:
    with raises_mentioning(UnsupportedPart, "frames", "encoder-decoders"):
        ask("frame", [VERBS], text(tokenizer, "seq2seq"), protocol="published")


def test_an_item_with_frames_is_asked_in_these_only() -> None:
    form = get_item_form(VERBS)
    assert form.part_of(VERBS) == "frame"
    assert form.part_of(GestItem("1", "en", 5, "I sing well.")) is None
