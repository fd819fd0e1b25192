"""Questions and scores of sentence pairs, compared with slow reference implementations of each protocol."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made
from tests.models.tiny_tokenizers import with_template, word_level, word_piece
from tests.support.answered import answered
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.benchmark import PartTrials, UnsupportedPart
from tiltmeter.benchmarks.pairs import BENCHMARK, PROTOCOLS, ask, drop_final_character
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.seq2seq import Seq2seqAnswerer
from tiltmeter.errors import UsageError
from tiltmeter.forms.pairs import PairItem
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.questions import Kind, WantedQuantity

CPU = torch.device("cpu")
CLS, SEP, MASK = 2, 3, 4


def pair(id_: str, more: str, less: str) -> PairItem:
    return PairItem(id_, "en", "profession", "stereo", more, less)


PAIRS = [
    pair("a", "the nurse was gentle to me .", "she was gentle to me ."),
    pair("b", "she is very gentle .", "the nurse is very loud and gentle ."),
    pair("c", "she was kindly to me .", "she was kind to me ."),
]
SAME = pair("same", "she is gentle .", "she is gentle .")
NOTHING = pair("nothing", "she is loud", "the nurse was gentle")


def masked_text() -> TokenizerText:
    return TokenizerText(word_piece(), SimpleNamespace(), "masked")


def causal_text(**special: str) -> TokenizerText:
    return TokenizerText(word_level(**special), SimpleNamespace(), "causal")


def seq2seq_text() -> TokenizerText:
    tokenizer = with_template(word_level(pad_token="<pad>", eos_token="</s>"), "$A </s>", "</s>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<extra_id_0>"]})
    return TokenizerText(tokenizer, SimpleNamespace(decoder_start_token_id=1), "seq2seq")


def ask_items(items: list[PairItem], text: Any, protocol: str = "published") -> PartTrials:
    return ask("all", items, text, protocol=protocol)


def scores(asked: PartTrials, answerer: Any) -> dict[str, dict[str, float]]:
    """Return the scores of each pair by role."""
    by_item = {}
    for item, rows in answered(asked, answerer, batch_tokens=40):
        assert len({row.role for row in rows}) == len(rows)
        by_item[item] = {row.role: row.score for row in rows}
    return by_item


# Questions


def test_each_shared_token_is_masked_in_turn_in_both_sentences() -> None:
    (trial,) = ask_items(PAIRS[:1], masked_text()).trials
    more, less = (encoded.ids for encoded in masked_text().encode_with_special_tokens([PAIRS[0].more, PAIRS[0].less]))
    assert (len(more), len(less)) == (10, 9)  # gentle is two pieces
    expected = [(more, index) for index in range(3, 9)] + [(less, index) for index in range(2, 8)]
    assert [(q.ids, q.wanted) for q in trial.questions] == [
        ((*ids[:index], MASK, *ids[index + 1 :]), ((index, ids[index]),)) for ids, index in expected
    ]
    assert {q.want for q in trial.questions} == {WantedQuantity.LOG_PROB_AND_TOP}


def test_no_special_token_is_asked_about() -> None:
    asked = ask_items([*PAIRS, SAME], masked_text())
    assert not {CLS, SEP} & {token for trial in asked.trials for q in trial.questions for _, token in q.wanted}


def test_later_tokens_of_the_same_word_are_masked_too() -> None:
    (trial,) = ask_items([SAME], masked_text(), "within-word-l2r").trials
    she, is_, gen, tle, stop = masked_text().encode([SAME.more])[0].ids
    assert [q.ids for q in trial.questions][:5] == [
        (CLS, MASK, is_, gen, tle, stop, SEP),
        (CLS, she, MASK, gen, tle, stop, SEP),
        (CLS, she, is_, MASK, MASK, stop, SEP),
        (CLS, she, is_, gen, MASK, stop, SEP),
        (CLS, she, is_, gen, tle, MASK, SEP),
    ]


def test_pieces_that_are_not_shared_are_masked_with_their_word() -> None:
    """`kindly` and `kind` share their first piece, which the second piece would reveal."""
    (trial,) = ask_items(PAIRS[2:], masked_text(), "within-word-l2r").trials
    more, less = trial.questions[2], trial.questions[len(trial.questions) // 2 + 2]
    assert more.wanted == less.wanted
    assert [index for index, token in enumerate(more.ids) if token == MASK] == [3, 4]
    assert [index for index, token in enumerate(less.ids) if token == MASK] == [3]


def test_unmasked_protocols_ask_about_every_token() -> None:
    for protocol, want in (("aul", WantedQuantity.LOG_PROB), ("aula", WantedQuantity.LOG_PROB_AND_ATTENTION)):
        (trial,) = ask_items(PAIRS[:1], masked_text(), protocol).trials
        for question, sentence in zip(trial.questions, (PAIRS[0].more, PAIRS[0].less), strict=True):
            ids = masked_text().encode_with_special_tokens([sentence])[0].ids
            assert question.ids == ids
            assert question.wanted == tuple((index, ids[index]) for index in range(1, len(ids) - 1))
            assert question.want is want


def test_a_likelihood_is_of_every_token_after_the_start() -> None:
    text = causal_text(bos_token="<s>")
    (trial,) = ask_items(PAIRS[:1], text, "likelihood").trials
    for question, sentence in zip(trial.questions, (PAIRS[0].more, PAIRS[0].less), strict=True):
        ids = (text.start, *text.encode([sentence])[0].ids)
        assert question.ids == ids
        assert question.wanted == tuple((index - 1, ids[index]) for index in range(1, len(ids)))


def test_an_encoder_decoder_fills_a_sentinel_with_the_sentence() -> None:
    text = seq2seq_text()
    (trial,) = ask_items(PAIRS[:1], text).trials
    for question, sentence in zip(trial.questions, (PAIRS[0].more, PAIRS[0].less), strict=True):
        ids = (text.decoder_start, text.sentinel, *text.encode([sentence])[0].ids)
        assert question.source == (text.sentinel, 2)  # </s>
        assert question.ids == ids
        assert question.wanted == tuple((index - 1, ids[index]) for index in range(2, len(ids)))


def test_both_likelihoods_ask_the_same_questions() -> None:
    text = causal_text(bos_token="<s>")
    asked = [
        {q.digest for trial in ask_items(PAIRS, text, protocol).trials for q in trial.questions}
        for protocol in ("likelihood", "likelihood-shared")
    ]
    assert asked[0] == asked[1]


@pytest.mark.parametrize("protocol", ["published", "within-word-l2r"])
def test_a_pair_without_a_shared_token_is_skipped_with_a_reason(protocol: str) -> None:
    asked = ask_items([NOTHING, SAME], masked_text(), protocol)
    assert [trial.item.id for trial in asked.trials] == ["same"]
    assert [(skip.item, skip.reason) for skip in asked.skipped] == [("nothing", "the two sentences share no token")]


def test_other_protocols_need_no_shared_tokens() -> None:
    text = causal_text(bos_token="<s>")
    assert not ask_items([NOTHING], text, "likelihood-shared").trials
    assert (
        len(ask_items([NOTHING], text, "likelihood").trials)
        == len(ask_items([NOTHING], masked_text(), "aul").trials)
        == 1
    )


@pytest.mark.parametrize("protocol", ["aul", "likelihood"])
def test_a_sentence_of_no_token_is_skipped_with_a_reason(protocol: str) -> None:
    text = masked_text() if protocol == "aul" else causal_text(bos_token="<s>")
    (skip,) = ask_items([pair("empty", " ", "she is loud")], text, protocol).skipped
    assert (skip.item, skip.reason) == ("empty", "one of the two sentences has no token")


# Names of protocols, and models that cannot be asked


@pytest.mark.parametrize(("text", "name"), [(masked_text(), "published"), (seq2seq_text(), "likelihood")])
def test_the_default_protocol_depends_on_the_kind_of_model(text: Any, name: str) -> None:
    assert ask_items(PAIRS, text).protocol == name


def test_causal_models_have_no_published_protocol() -> None:
    assert ask_items(PAIRS, causal_text(bos_token="<s>")).protocol == "likelihood"


@pytest.mark.parametrize(
    ("text", "protocol"),
    [(masked_text(), "likelihood"), (causal_text(bos_token="<s>"), "aul"), (seq2seq_text(), "within-word-l2r")],
)
def test_a_protocol_of_another_kind_of_model_cannot_be_asked(text: Any, protocol: str) -> None:
    with raises_mentioning(UnsupportedPart, protocol, f"{text.kind} models"):
        ask_items(PAIRS, text, protocol)


def test_an_unknown_protocol_is_a_bad_request() -> None:
    with raises_mentioning(UsageError, "'in-context'", "published, within-word-l2r"):
        ask_items(PAIRS, masked_text(), "in-context")


def test_models_that_lack_a_token_cannot_be_asked() -> None:
    with raises_mentioning(UnsupportedPart, "no start token"):
        ask_items(PAIRS, causal_text())
    with raises_mentioning(UnsupportedPart, "no mask token"):
        ask_items(PAIRS, TokenizerText(word_level(), SimpleNamespace(), "masked"))
    with raises_mentioning(UnsupportedPart, "no sentinel"):
        ask_items(PAIRS, TokenizerText(word_level(), SimpleNamespace(), "seq2seq"))


def test_words_need_a_fast_tokenizer() -> None:
    class Slow(TokenizerText):
        has_offsets = False

    with raises_mentioning(UnsupportedPart, "within-word-l2r", "fast tokenizer"):
        ask_items(PAIRS, Slow(word_piece(), SimpleNamespace(), "masked"), "within-word-l2r")


# Scores


def log_probs(model: Any, **inputs: Any) -> torch.Tensor:
    with torch.no_grad():
        logits: torch.Tensor = model(**{name: torch.tensor([ids]) for name, ids in inputs.items()}).logits[0]
    return torch.log_softmax(logits.double(), dim=-1)


def naive_masked(model: Any, ids: list[int], index: int, covered: list[int]) -> tuple[float, float, float]:
    """Return a token's log-probability, its distance to the gold distribution by SciPy, and whether it is the top."""
    shown = [MASK if at in covered else token for at, token in enumerate(ids)]
    table = log_probs(model, input_ids=shown)[index]
    one_hot = np.eye(len(table))[ids[index]]
    distance = float(jensenshannon(table.exp().numpy(), one_hot, base=2))
    return float(table[ids[index]]), distance, float(table.argmax() == ids[index])


# Positions of the shared tokens of PAIRS in both sentences, and the last positions of their words; written by hand.
SHARED = {
    "a": ([3, 4, 5, 6, 7, 8], [2, 3, 4, 5, 6, 7], {4: 5}, {3: 4}),
    "b": ([2, 3, 4, 5, 6], [3, 4, 7, 8, 9], {4: 5}, {7: 8}),
    "c": ([1, 2, 3, 5, 6, 7], [1, 2, 3, 4, 5, 6], {3: 4}, {}),
}


@pytest.mark.parametrize("protocol", ["published", "within-word-l2r"])
def test_masked_scores_follow_the_definitions_of_the_papers(protocol: str) -> None:
    model = made(MASKED["bert"])
    actual = scores(ask_items(PAIRS, masked_text(), protocol), MaskedAnswerer(model, CPU))
    for item in PAIRS:
        *indices, words_more, words_less = SHARED[item.id]
        numbers = []
        for sentence, own, words in zip((item.more, item.less), indices, (words_more, words_less), strict=True):
            ids = list(masked_text().encode_with_special_tokens([sentence])[0].ids)
            last = {index: words.get(index, index) if protocol == "within-word-l2r" else index for index in own}
            numbers.append([naive_masked(model, ids, p, list(range(p, last[p] + 1))) for p in own])
        (more, distance_more, hits_more), (less, distance_less, hits_less) = (zip(*n, strict=True) for n in numbers)
        s_jsd = float(np.mean(distance_more) - np.mean(distance_less))
        assert actual[item.id] == pytest.approx(
            {
                "more": sum(more),
                "less": sum(less),
                "s_jsd": s_jsd,
                "b_s_jsd": float(s_jsd < 0),
                "shared_tokens": len(more),
                "hits_more": sum(hits_more),
                "hits_less": sum(hits_less),
            },
            abs=2e-5,
        )


@pytest.mark.parametrize("architecture", ["bert", "xlm-roberta", "distilbert", "albert", "modernbert", "deberta-v2"])
def test_unmasked_scores_follow_the_definition_of_the_paper(architecture: str) -> None:
    model = made(MASKED[architecture])
    usual = model.config._attn_implementation
    answerer = MaskedAnswerer(model, CPU)
    aul = scores(ask_items(PAIRS, masked_text(), "aul"), answerer)
    aula = scores(ask_items(PAIRS, masked_text(), "aula"), answerer)
    assert model.config._attn_implementation == usual  # restored afterwards
    model.set_attn_implementation("eager")
    for item in PAIRS:
        plain, weighted = [], []
        for sentence in (item.more, item.less):
            ids = list(masked_text().encode_with_special_tokens([sentence])[0].ids)
            with torch.no_grad():
                layers = model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
            attention = torch.cat(layers).double().mean(dim=0).mean(dim=0).mean(dim=0)
            table = log_probs(model, input_ids=ids)
            own = [(float(table[index, ids[index]]), float(attention[index])) for index in range(1, len(ids) - 1)]
            plain.append(sum(log_prob for log_prob, _ in own) / len(own))
            weighted.append(sum(log_prob * weight for log_prob, weight in own) / len(own))
        for got, (more, less) in ((aul, plain), (aula, weighted)):
            expected = {"more": more, "less": less, "difference": more - less}
            assert got[item.id] == pytest.approx(expected, abs=1e-5)


def naive_likelihoods(model: Any, lead: list[int], ids: list[int], source: list[int] | None) -> list[float]:
    """Return the log-probability of each token, with one forward pass per token."""
    result = []
    for length in range(len(ids)):
        before = [*lead, *ids[:length]]
        inputs = {"input_ids": before} if source is None else {"input_ids": source, "decoder_input_ids": before}
        result.append(float(log_probs(model, **inputs)[-1, ids[length]]))
    return result


@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_likelihoods_are_sums_over_all_or_over_the_shared_tokens(kind: Kind) -> None:
    text = causal_text(bos_token="<s>") if kind == "causal" else seq2seq_text()
    model = made(CAUSAL["gpt2"] if kind == "causal" else SEQ2SEQ["t5"])
    answerer: Any = (CausalAnswerer if kind == "causal" else Seq2seqAnswerer)(model, CPU)
    whole = scores(ask_items(PAIRS[:2], text, "likelihood"), answerer)
    shared = scores(ask_items(PAIRS[:2], text, "likelihood-shared"), answerer)
    lead = [text.start] if kind == "causal" else [text.decoder_start, text.sentinel]
    source = None if kind == "causal" else [text.sentinel, 2]
    # Positions in whole words, without the leading special tokens.
    indices = {"a": ([2, 3, 4, 5, 6], [1, 2, 3, 4, 5]), "b": ([1, 2, 3, 4], [2, 3, 6, 7])}
    for item in PAIRS[:2]:
        more, less = (
            np.array(naive_likelihoods(model, lead, list(text.encode([sentence])[0].ids), source))  # type: ignore[arg-type]
            for sentence in (item.more, item.less)
        )
        assert whole[item.id] == pytest.approx(
            {
                "more": more.sum(),
                "less": less.sum(),
                "tokens_more": len(more),
                "tokens_less": len(less),
                "difference": more.mean() - less.mean(),
            },
            abs=2e-5,
        )
        kept_more, kept_less = more[indices[item.id][0]], less[indices[item.id][1]]
        assert shared[item.id] == pytest.approx(
            {
                "more": kept_more.sum(),
                "less": kept_less.sum(),
                "shared_tokens": len(kept_more),
                "difference": (kept_more.sum() - kept_less.sum()) / len(kept_more),
            },
            abs=2e-5,
        )


@pytest.mark.parametrize("protocol", ["published", "within-word-l2r", "aul", "aula"])
def test_a_sentence_ties_with_itself_to_the_last_bit(protocol: str) -> None:
    (actual,) = scores(ask_items([SAME], masked_text(), protocol), MaskedAnswerer(made(MASKED["bert"]), CPU)).values()
    assert actual["more"] == actual["less"]
    assert actual.get("s_jsd", 0.0) == actual.get("b_s_jsd", 0.0) == actual.get("difference", 0.0) == 0.0


def test_a_common_prefix_does_not_change_the_preference() -> None:
    """Rounding differences between batches in the common prefix must not break a tie."""
    late = pair("late", "she is very loud", "she is very gentle")
    text = causal_text(bos_token="<s>")
    noisy = [np.array([-1, -2, -3, -4], dtype=np.float32), np.array([-1, -2 - 1e-6, -3, -9], dtype=np.float32)]
    for protocol, difference in (("likelihood-shared", 0.0), ("likelihood", 5 / 4)):
        (trial,) = ask_items([late], text, protocol).trials
        actual = {row.role: row.score for row in trial.score(noisy)}
        assert actual["difference"] == difference
        assert (actual["more"] == actual["less"]) == (protocol == "likelihood-shared")


def test_scores_of_a_sentence_and_of_the_pair_have_different_candidates() -> None:
    (trial,) = ask_items([SAME], masked_text()).trials
    rows = trial.score([np.array([math.log(0.5), 1], dtype=np.float32)] * len(trial.questions))
    assert {row.role: row.candidate for row in rows} == {
        "more": "same/more",
        "hits_more": "same/more",
        "less": "same/less",
        "hits_less": "same/less",
        "shared_tokens": "same",
        "s_jsd": "same",
        "b_s_jsd": "same",
    }


# Perturbations and registration


def test_dropping_the_final_character_leaves_all_else() -> None:
    changed = drop_final_character(PAIRS[0])
    assert (changed.more, changed.less) == ("the nurse was gentle to me ", "she was gentle to me ")
    assert (changed.id, changed.bias_type) == (PAIRS[0].id, PAIRS[0].bias_type)
    assert BENCHMARK.perturbations["drop-final-character"] is drop_final_character


def test_the_benchmark_is_found_by_the_form_of_its_items() -> None:
    assert (BENCHMARK.form, BENCHMARK.measures, BENCHMARK.protocols) == ("pairs", "pairs", PROTOCOLS)
