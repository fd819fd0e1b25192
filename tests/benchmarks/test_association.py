"""StereoSet's questions and scores, compared with direct computations."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.models.tiny_tokenizers import byte_level, word_level, word_piece
from tests.support.answered import answered
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.association import MeanTokenScorer, ask, build_choice
from tiltmeter.benchmarks.benchmark import UnsupportedPart
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.errors import UsageError
from tiltmeter.forms.association import AssociationItem, Candidate, Part
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.questions import Kind

CPU = torch.device("cpu")


def item(context: str, *candidates: str, part: Part = "intrasentence", id: str = "n1") -> AssociationItem:
    roles = ("stereotype", "anti-stereotype", "unrelated")
    all_candidates = tuple(
        Candidate(f"{id}/{role}", role, text if part == "intersentence" else context.replace("BLANK", text), text)
        for role, text in zip(roles, candidates, strict=True)
    )
    return AssociationItem(id, part, "en", "profession", "nurse", "nurse", context, all_candidates)


GENTLE = item("the nurse was BLANK .", "gentle", "gruff", "wooden")
NEXT = item(
    "the nurse is kind", "she was gentle .", "she was gruff .", "a very wooden .", part="intersentence", id="n2"
)


def text(tokenizer: Any, kind: Kind, **config: Any) -> TokenizerText:
    return TokenizerText(tokenizer, SimpleNamespace(**config), kind)


def scores(asked: Any, answerer: Any) -> list[float]:
    return [score.score for _, rows in answered(asked, answerer) for score in rows]


def probabilities(model: Any, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        result: torch.Tensor = torch.softmax(model(torch.tensor([ids])).logits[0].double(), dim=-1)
    return result


@pytest.mark.parametrize("protocol", ["published", "in-context"])
def test_masked_pieces_are_unmasked_from_left_to_right(bert: Any, protocol: str) -> None:
    tokenizer = word_piece()
    actual = scores(
        ask("intrasentence", [GENTLE], text(tokenizer, "masked"), protocol=protocol),
        MaskedAnswerer(bert, CPU),
    )
    vocabulary = tokenizer.get_vocab()
    cls, the, nurse, was, stop, sep, mask = (
        vocabulary[w] for w in ("[CLS]", "the", "nurse", "was", ".", "[SEP]", "[MASK]")
    )
    gen, tle = vocabulary["gen"], vocabulary["##tle"]
    first = probabilities(bert, [cls, the, nurse, was, mask, stop, sep])[4]
    second = probabilities(bert, [cls, the, nurse, was, gen, mask, stop, sep])[5]
    expected = [(first[gen] + second[tle]) / 2, first[vocabulary["gruff"]], first[vocabulary["wooden"]]]
    assert actual == pytest.approx([float(p) for p in expected], rel=1e-5)


def geometric_mean(values: list[Any]) -> float:
    return math.exp(sum(math.log(float(v)) for v in values) / len(values))


def after(model: Any, ids: list[int], indices: range) -> list[Any]:
    p = probabilities(model, ids)
    return [p[index - 1, ids[index]] for index in indices]


def test_published_causal_scores_read_the_first_token_after_the_start_token_alone(gpt2: Any) -> None:
    tokenizer = word_level(bos_token="<s>")
    actual = scores(
        ask("intrasentence", [GENTLE], text(tokenizer, "causal"), protocol="published"),
        CausalAnswerer(gpt2, CPU),
    )
    for candidate, score in zip(GENTLE.candidates, actual, strict=True):
        ids = tokenizer.encode(candidate.sentence)
        values = [probabilities(gpt2, [1])[0, ids[0]], *after(gpt2, ids, range(1, len(ids)))]
        assert score == pytest.approx(geometric_mean(values), rel=1e-5)


def test_in_context_causal_scores_have_the_start_token_in_front(gpt2: Any) -> None:
    tokenizer = word_level(bos_token="<s>")
    actual = scores(
        ask("intrasentence", [GENTLE], text(tokenizer, "causal"), protocol="in-context"),
        CausalAnswerer(gpt2, CPU),
    )
    for candidate, score in zip(GENTLE.candidates, actual, strict=True):
        ids = [1, *tokenizer.encode(candidate.sentence)]
        assert score == pytest.approx(geometric_mean(after(gpt2, ids, range(1, len(ids)))), rel=1e-5)


def test_a_model_without_a_start_token_leaves_the_first_token_out(gpt2: Any) -> None:
    tokenizer = word_level()
    actual = scores(
        ask("intrasentence", [GENTLE], text(tokenizer, "causal"), protocol="published"),
        CausalAnswerer(gpt2, CPU),
    )
    ids = tokenizer.encode(GENTLE.candidates[0].sentence)
    assert actual[0] == pytest.approx(geometric_mean(after(gpt2, ids, range(1, len(ids)))), rel=1e-5)


@pytest.mark.parametrize("case", ["orig", "b", "c", "d", "e", "f"])
@pytest.mark.parametrize("in_context", [False, True])
def test_the_six_cases(gpt2: Any, case: str, in_context: bool) -> None:
    tokenizer = word_level(bos_token="<s>")
    name = f"{'in-context' if in_context else 'published'}/{case}"
    asked = ask("intersentence", [NEXT], text(tokenizer, "causal"), protocol=name)
    assert asked.protocol == (name.removesuffix("/d"))
    actual = scores(asked, CausalAnswerer(gpt2, CPU))
    for candidate, score in zip(NEXT.candidates, actual, strict=True):
        context = tokenizer.encode("the nurse is kind.")  # the full stop is added
        alone = tokenizer.encode(candidate.sentence)

        def mean_of(ids: list[int], first: int = 0) -> float:
            if in_context:
                ids = [1, *ids]
                return geometric_mean(after(gpt2, ids, range(first + 1, len(ids))))
            lead = [probabilities(gpt2, [1])[0, ids[0]]] if first == 0 else []
            return geometric_mean([*lead, *after(gpt2, ids, range(max(first, 1), len(ids)))])

        whole = mean_of(context + alone)
        continuation = mean_of(context + alone, len(context))
        expected = {
            "orig": mean_of(alone) / mean_of(context),
            "b": continuation / whole,
            "c": whole,
            "d": continuation,
            "e": continuation / mean_of(alone),
            "f": whole / mean_of(alone),
        }[case]
        assert score == pytest.approx(expected, rel=1e-5)


def test_in_context_a_word_keeps_the_pieces_it_has_after_a_space() -> None:
    tokenizer = byte_level(mask=True)
    sentence = item("the BLANK nurse", "gentle", "rude", "red")
    vocabulary = tokenizer.get_vocab()
    masked = text(tokenizer, "masked")
    assert pieces_of(sentence, masked, "in-context")[0] == [vocabulary["Ġgentle"]]
    # The published protocol tokenizes the word without its leading space, which gives four pieces.
    assert pieces_of(sentence, masked, "published")[0] == [vocabulary[p] for p in ("g", "e", "nt", "le")]


def pieces_of(sentence: AssociationItem, masked: TokenizerText, protocol: str) -> list[list[int]]:
    """Return the tokens whose probabilities are averaged for each candidate's score."""
    (trial,) = ask("intrasentence", [sentence], masked, protocol=protocol).trials
    assert isinstance(trial.score, MeanTokenScorer)
    return [[trial.questions[a].wanted[b][1] for a, b in indices] for indices in trial.score.piece_indices]


def test_in_context_questions_differ_from_the_sentence_at_the_mask_alone() -> None:
    tokenizer = byte_level(mask=True)
    sentence = item("the BLANK nurse", "gentle", "rude", "red")
    asked = ask("intrasentence", [sentence], text(tokenizer, "masked"), protocol="in-context")
    whole = tokenizer.convert_tokens_to_ids(["the", "Ġ", *"rude", "Ġ", *"nurse"])
    (trial,) = asked.trials
    assert isinstance(trial.score, MeanTokenScorer)
    rude = trial.score.piece_indices[1]
    for index, (answer, number) in enumerate(rude, start=2):
        question = trial.questions[answer]
        assert question.wanted[number] == (index, whole[index])
        assert question.ids == (*whole[:index], tokenizer.mask_token_id, *whole[6:])
    assert len(rude) == len("rude")


def test_tokens_of_the_same_input_are_one_question() -> None:
    tokenizer = word_piece()
    trial, other = ask(
        "intrasentence",
        [GENTLE, item("the nurse was BLANK .", "kind", "kind", "gruff", id="n3")],
        text(tokenizer, "masked"),
        protocol="published",
    ).trials
    vocabulary = tokenizer.get_vocab()
    # The first step of all three candidates, then the second step of the only one with two pieces.
    assert [[token for _, token in question.wanted] for question in trial.questions] == [
        [vocabulary[piece] for piece in ("gen", "gruff", "wooden")],
        [vocabulary["##tle"]],
    ]
    (question,) = other.questions
    assert [token for _, token in question.wanted] == [vocabulary["kind"], vocabulary["gruff"]]
    first, second, third = other.score([np.log(np.float32([0.25, 0.5]))])
    assert first.score == second.score == pytest.approx(0.25)
    assert third.score == pytest.approx(0.5)


def test_models_that_lack_a_token_or_head_cannot_be_asked() -> None:
    no_mask = text(word_level(), "masked")
    with raises_mentioning(UnsupportedPart, "no mask token"):
        ask("intrasentence", [GENTLE], no_mask, protocol="published")
    with raises_mentioning(UnsupportedPart, "no next-sentence head"):
        ask("intersentence", [NEXT], text(word_piece(), "masked"), protocol="published")
    no_sentinel = text(word_level(pad_token="<pad>"), "seq2seq", decoder_start_token_id=1)
    for part, part_item in (("intrasentence", GENTLE), ("intersentence", NEXT)):
        with raises_mentioning(UnsupportedPart, "<extra_id_0>"):
            ask(part, [part_item], no_sentinel, protocol="published")


def test_a_next_sentence_head_is_asked_about_each_candidate() -> None:
    tokenizer = word_piece()
    with_head = TokenizerText(tokenizer, SimpleNamespace(), "masked", next_sentence=True)
    asked = ask("intersentence", [NEXT], with_head, protocol="published")
    assert asked.kind == "next-sentence"
    assert [trial.questions[0].wanted for trial in asked.trials] == [((0, 0),)] * 3
    assert ask("intrasentence", [GENTLE], with_head, protocol="published").kind == "masked"


def test_blank_twice_is_read_at_the_first_place_and_skipped_in_context() -> None:
    twice = item("the BLANK nurse was BLANK .", "kind", "gruff", "wooden", id="twice")
    masked = text(word_piece(), "masked")
    published = ask("intrasentence", [twice, GENTLE], masked, protocol="published")
    assert not published.skipped
    (index, _), *_ = published.trials[0].questions[0].wanted
    assert index == 2
    in_context = ask("intrasentence", [twice, GENTLE], masked, protocol="in-context")
    assert [skip.item for skip in in_context.skipped] == ["twice"]
    assert {trial.item.id for trial in in_context.trials} == {"n1"}


def test_an_item_with_a_candidate_of_no_tokens_is_skipped_whole_and_named() -> None:
    empty = item("the nurse was BLANK .", "kind", "\u200b", "wooden", id="empty")
    tokenizer = word_piece()
    from tokenizers import normalizers

    tokenizer.backend_tokenizer.normalizer = normalizers.Replace("\u200b", "")
    asked = ask("intrasentence", [empty, GENTLE], text(tokenizer, "masked"), protocol="published")
    assert [(skip.item, skip.reason) for skip in asked.skipped] == [("empty", "a candidate word has no token")]
    assert [trial.item.id for trial in asked.trials] == ["n1"]


def test_unknown_protocols_and_parts_list_the_known_ones() -> None:
    masked = text(word_piece(), "masked")
    for protocol in ("fast", "published/g"):
        with raises_mentioning(UsageError, f"{protocol!r}", "published or in-context"):
            ask("intrasentence", [GENTLE], masked, protocol=protocol)
    with raises_mentioning(UsageError, "'between'", "intrasentence or intersentence"):
        ask("between", [GENTLE], masked, protocol="published")


def test_a_tokenizer_that_knows_no_offsets_cannot_do_in_context(monkeypatch: pytest.MonkeyPatch) -> None:
    masked = text(word_piece(), "masked")
    monkeypatch.setattr(type(masked), "has_offsets", property(lambda self: False))
    with raises_mentioning(UnsupportedPart, "fast tokenizer"):
        ask("intrasentence", [GENTLE], masked, protocol="in-context")


def test_probabilities_far_below_the_smallest_float_keep_their_order(gpt2: Any) -> None:
    asked = ask(
        "intrasentence",
        [GENTLE],
        text(word_level(bos_token="<s>"), "causal"),
        protocol="published",
    )
    low = [np.full(5, -200, dtype=np.float32)], [np.full(5, -201, dtype=np.float32)]
    first, second = (asked.trials[0].score(answers)[0].score for answers in low)
    assert first > second > 0


WHOLE = AssociationItem(
    "w1",
    "intrasentence",
    "en",
    "profession",
    "nurse",
    "nurse",
    "the nurse BLANK",
    (
        Candidate("w1/s", "stereotype", "she was gentle ."),
        Candidate("w1/a", "anti-stereotype", "the nurse was very gruff ."),
        Candidate("w1/u", "unrelated", "a wooden nurse ."),
    ),
    whole=True,
)


def test_whole_sentences_are_asked_of_a_masked_model_token_by_token(bert: Any) -> None:
    tokenizer = word_piece()
    asked = ask("intrasentence", [WHOLE], text(tokenizer, "masked"), protocol="published")
    assert asked.protocol == "whole-sentence"
    expected = []
    for candidate in WHOLE.candidates:
        ids = tokenizer(candidate.sentence)["input_ids"]
        own = [i for i, token in enumerate(ids) if token not in tokenizer.all_special_ids]
        logs = []
        for index in own:
            masked = [*ids[:index], tokenizer.mask_token_id, *ids[index + 1 :]]
            logs.append(math.log(float(probabilities(bert, masked)[index, ids[index]])))
        expected.append(math.exp(sum(logs) / len(logs)))
    assert scores(asked, MaskedAnswerer(bert, CPU)) == pytest.approx(expected, rel=1e-4)


def test_whole_sentences_are_asked_of_a_causal_model_as_published(gpt2: Any) -> None:
    asked = ask("intrasentence", [WHOLE], text(byte_level(), "causal"), protocol="published")
    with_words = replace(
        WHOLE, whole=False, candidates=tuple(replace(candidate, word="x") for candidate in WHOLE.candidates)
    )
    published = ask("intrasentence", [with_words], text(byte_level(), "causal"), protocol="published")
    assert asked.protocol == "whole-sentence"
    assert scores(asked, CausalAnswerer(gpt2, CPU)) == scores(published, CausalAnswerer(gpt2, CPU))


def test_whole_sentences_are_not_asked_otherwise() -> None:
    with raises_mentioning(UnsupportedPart, "whole sentences", "encoder-decoders"):
        ask("intrasentence", [WHOLE], text(word_level(), "seq2seq"), protocol="published")
    with raises_mentioning(UnsupportedPart, "whole sentences", "chat model"):
        build_choice(WHOLE)
