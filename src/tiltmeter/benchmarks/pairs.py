"""Sentence pairs: does a model assign a higher score to the more stereotypical of two sentences?

The sentences of a pair differ in the group that they mention. `docs/explanation/sentence-pairs.md` has the formulas and
the limitations of each protocol. Protocols for masked models:

- `published`: each token that both sentences share is masked in turn (Nangia et al. 2020, Steinborn et al. 2022).
- `within-word-l2r`: like `published`, but the later tokens of the same word are masked, too (Kauf and Ivanova 2023).
- `aul`, `aula`: nothing is masked, and all tokens are scored; `aula` weights them by attention (Kaneko and Bollegala
  2022).

Causal and encoder-decoder models have no published protocol, so `published` means `likelihood` for them:

- `likelihood`: the log-likelihood of the whole sentence.
- `likelihood-shared`: the log-likelihood of the shared tokens.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tiltmeter.benchmarks.benchmark import (
    Benchmark,
    PartTrials,
    Score,
    SkippedItem,
    Trial,
    UnsupportedPart,
    allow_splitting,
)
from tiltmeter.benchmarks.gold_distance import compute_s_jsd
from tiltmeter.benchmarks.perturbations import build_perturbations
from tiltmeter.benchmarks.token_alignment import find_shared_positions, find_text_positions
from tiltmeter.errors import UsageError
from tiltmeter.forms.bounded_matcher import MatchingLimitError
from tiltmeter.forms.pairs import PairItem
from tiltmeter.questions import (
    Answer,
    Choice,
    Ids,
    Kind,
    Option,
    Question,
    Tokenizer,
    WantedQuantity,
    count_common_prefix,
)

PUBLISHED, WITHIN_WORD, AUL, AULA = "published", "within-word-l2r", "aul", "aula"
LIKELIHOOD, LIKELIHOOD_SHARED = "likelihood", "likelihood-shared"
_PROTOCOLS_BY_KIND: Final[Mapping[Kind, tuple[str, ...]]] = {
    "masked": (PUBLISHED, WITHIN_WORD, AUL, AULA),
    "causal": (LIKELIHOOD, LIKELIHOOD_SHARED),
    "seq2seq": (LIKELIHOOD, LIKELIHOOD_SHARED),
}
PROTOCOLS = {
    PUBLISHED: f"masked: masks in turn each token that both sentences share; causal, seq2seq: `{LIKELIHOOD}`",
    WITHIN_WORD: f"masked: `{PUBLISHED}`, with the later tokens of the word masked too (Kauf and Ivanova 2023)",
    AUL: "masked: the mean over all tokens of the sentence, without masks (Kaneko and Bollegala 2022)",
    AULA: f"masked: `{AUL}`, weighted by attention",
    LIKELIHOOD: "causal, seq2seq: the log-likelihood of the whole sentence",
    LIKELIHOOD_SHARED: "causal, seq2seq: the log-likelihood of the tokens that both sentences share",
}

_NOTHING_SHARED = "the two sentences share no token"
_EMPTY = "one of the two sentences has no token"
_NOT_ALIGNED = "the two sentences are too long and repetitive to find the tokens that they share"
# The maximum number of tokens in a sentence whose tokens are masked one by one. The memory for its masked copies
# grows with the square of this number.
_LONGEST_MASKED = 4_096


def ask(part: str, items: Sequence[PairItem], text: Tokenizer, *, protocol: str) -> PartTrials:
    """Return the questions about sentence pairs, for a model with the tokenizer `text`."""
    del part  # data sets of pairs are not divided into parts
    name = _select_protocol(protocol, text.kind)
    result = PartTrials(text.kind, name)
    if name in (PUBLISHED, WITHIN_WORD):
        _ask_masked(result, items, text, within_word=name == WITHIN_WORD)
    elif name in (AUL, AULA):
        _ask_unmasked(result, items, text, attention=name == AULA)
    else:
        _ask_likelihood(result, items, text, only_shared=name == LIKELIHOOD_SHARED)
    return result


def _select_protocol(name: str, kind: Kind) -> str:
    if name not in PROTOCOLS:
        raise UsageError(f"{name!r} is not a protocol of sentence pairs; choose one of {', '.join(PROTOCOLS)}.")
    known = _PROTOCOLS_BY_KIND[kind]
    if name == PUBLISHED:
        return known[0]
    if name not in known:
        raise UnsupportedPart(f"The protocol {name} does not support {kind} models; use {' or '.join(known)}.")
    return name


# Functions for masked models


@dataclass(frozen=True, slots=True)
class _Sentence:
    """The input of a masked model for a sentence.

    `text` is the range of positions of the sentence's tokens, without special tokens. `words` has the index of the word
    to which each token belongs; it is empty if the protocol does not need words.
    """

    ids: tuple[int, ...]
    text: range
    words: tuple[int | None, ...] = ()

    def build_masked_question(self, position: int, mask: int) -> Question:
        """Return the question for the masked token at `position`; with `words`, the rest of its word is also masked."""
        ids = list(self.ids)
        ids[position] = mask
        if self.words:
            for later in range(position + 1, len(ids)):
                if self.words[later] != self.words[position]:
                    break
                ids[later] = mask
        return Question(tuple(ids), ((position, self.ids[position]),), want=WantedQuantity.LOG_PROB_AND_TOP)


def _ask_masked(result: PartTrials, items: Sequence[PairItem], text: Tokenizer, *, within_word: bool) -> None:
    """Add a trial for each pair; in its questions, each token that both sentences share is masked in turn."""
    if text.mask is None:
        raise UnsupportedPart("The tokenizer has no mask token, so no token of a sentence can be masked.")
    if within_word and not text.has_offsets:
        raise UnsupportedPart("The protocol within-word-l2r needs a fast tokenizer, which reports the words of tokens.")
    for item, more, less in _encode_sentences(items, text, words=within_word):
        length = max(len(more.ids), len(less.ids))
        if length > _LONGEST_MASKED:
            result.too_long[item.id] = length
            continue
        try:
            aligned = find_shared_positions(more.ids, less.ids)
        except MatchingLimitError:
            result.skipped.append(SkippedItem(item.id, _NOT_ALIGNED))
            continue
        shared = [(first, second) for first, second in aligned if first in more.text and second in less.text]
        if not shared:
            result.skipped.append(SkippedItem(item.id, _NOTHING_SHARED))
            continue
        questions = [more.build_masked_question(position, text.mask) for position, _ in shared]
        questions += [less.build_masked_question(position, text.mask) for _, position in shared]
        sides = ("more",) * len(shared) + ("less",) * len(shared)
        result.trials.append(Trial(item, tuple(questions), _build_masked_scorer(item), sides))


def _build_masked_scorer(item: PairItem) -> Callable[[Sequence[Answer]], list[Score]]:
    def score(answers: Sequence[Answer]) -> list[Score]:
        # Axes: sentence; shared token; log-probability and whether the token is the most probable one.
        table = np.asarray(answers, dtype=np.float64).reshape(2, -1, 2)
        (more, less), (hits_more, hits_less) = table[..., 0], table[..., 1].sum(axis=1)
        distance = compute_s_jsd(more, less)
        return [
            _build_sentence_score(item, "more", "more", more.sum()),
            _build_sentence_score(item, "less", "less", less.sum()),
            _build_sentence_score(item, "more", "hits_more", hits_more),
            _build_sentence_score(item, "less", "hits_less", hits_less),
            Score(item.id, "shared_tokens", float(table.shape[1])),
            Score(item.id, "s_jsd", distance),
            # 1 if the model predicts `more` better; a tie counts as 0, as in the code of Steinborn et al. (2022).
            Score(item.id, "b_s_jsd", float(distance < 0)),
        ]

    return score


def _ask_unmasked(result: PartTrials, items: Sequence[PairItem], text: Tokenizer, *, attention: bool) -> None:
    """Add a trial for each pair, with one question for each sentence; no token is masked."""
    want = WantedQuantity.LOG_PROB_AND_ATTENTION if attention else WantedQuantity.LOG_PROB
    for item, more, less in _encode_sentences(items, text, words=False):
        if not more.text or not less.text:
            result.skipped.append(SkippedItem(item.id, _EMPTY))
            continue
        questions = [
            Question(sentence.ids, tuple((position, sentence.ids[position]) for position in sentence.text), want=want)
            for sentence in (more, less)
        ]
        result.trials.append(Trial(item, tuple(questions), _build_unmasked_scorer(item, attention), ("more", "less")))


def _build_unmasked_scorer(item: PairItem, attention: bool) -> Callable[[Sequence[Answer]], list[Score]]:
    def compute_sentence_score(answer: Answer) -> float:
        numbers = answer.astype(np.float64)
        if attention:
            # The attention weights are not normalised, as in the paper and the code of Kaneko and Bollegala (2022).
            log_probs, weights = numbers.reshape(2, -1)
            numbers = log_probs * weights
        return float(numbers.mean())

    def score(answers: Sequence[Answer]) -> list[Score]:
        more, less = map(compute_sentence_score, answers)
        return [
            _build_sentence_score(item, "more", "more", more),
            _build_sentence_score(item, "less", "less", less),
            Score(item.id, "difference", more - less),
        ]

    return score


def _encode_sentences(
    items: Sequence[PairItem], text: Tokenizer, *, words: bool
) -> Iterator[tuple[PairItem, _Sentence, _Sentence]]:
    """Yield the pairs with both sentences encoded; with `words`, also the word index of each token."""
    texts = [sentence for item in items for sentence in (item.more, item.less)]
    word_indices = text.find_token_words(texts) if words else [()] * len(texts)
    sentences = [
        _Sentence(whole.ids, find_text_positions(whole, alone), indices)
        for whole, alone, indices in zip(
            text.encode_with_special_tokens(texts), text.encode(texts), word_indices, strict=True
        )
    ]
    return zip(items, sentences[::2], sentences[1::2], strict=True)


# Functions for causal and encoder-decoder models


def _ask_likelihood(result: PartTrials, items: Sequence[PairItem], text: Tokenizer, *, only_shared: bool) -> None:
    """Add a trial for each pair, with one question for each sentence.

    Both likelihood protocols ask the same questions, so they share stored answers.
    """
    lead, source = _build_leading_tokens(text)
    texts = [sentence for item in items for sentence in (item.more, item.less)]
    encoded = [(*lead, *sentence.ids) for sentence in text.encode(texts)]
    for item, more, less in zip(items, encoded[::2], encoded[1::2], strict=True):
        if len(more) == len(lead) or len(less) == len(lead):
            result.skipped.append(SkippedItem(item.id, _EMPTY))
            continue
        try:
            shared = _find_shared_positions_after(len(lead), more, less) if only_shared else None
        except MatchingLimitError:
            result.skipped.append(SkippedItem(item.id, _NOT_ALIGNED))
            continue
        if shared == []:
            result.skipped.append(SkippedItem(item.id, _NOTHING_SHARED))
            continue
        questions = tuple(
            Question(ids, tuple(zip(range(len(lead) - 1, len(ids) - 1), ids[len(lead) :], strict=True)), source=source)
            for ids in (more, less)
        )
        prefix = count_common_prefix(more, less) - len(lead)
        score = _build_likelihood_scorer(item, prefix, shared)
        result.trials.append(Trial(item, questions, score, ("more", "less")))


def _find_shared_positions_after(lead: int, more: Ids, less: Ids) -> list[tuple[int, int]]:
    """Return the positions of shared tokens after the first `lead` tokens, counted from the end of these tokens."""
    return [
        (first - lead, second - lead)
        for first, second in find_shared_positions(more, less)
        if first >= lead and second >= lead
    ]


def _build_leading_tokens(text: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tokens before a sentence, and the input of the encoder (empty for models without an encoder)."""
    if text.kind == "causal":
        if text.start is None:
            raise UnsupportedPart(
                "The tokenizer has no start token, so the first token of a sentence, which often names the group, has "
                "no likelihood."
            )
        return (text.start,), ()
    if text.sentinel is None or text.decoder_start is None:
        raise UnsupportedPart(
            "The tokenizer has no sentinel <extra_id_0>, so the model was not trained to fill blanks like T5."
        )
    (source,) = text.encode_with_special_tokens([text.sentinel_text])
    return (text.decoder_start, text.sentinel), source.ids


def _build_likelihood_scorer(
    item: PairItem, prefix: int, shared: list[tuple[int, int]] | None
) -> Callable[[Sequence[Answer]], list[Score]]:
    def score(answers: Sequence[Answer]) -> list[Score]:
        more, less = (answer.astype(np.float64) for answer in answers)
        # The tokens of the common prefix have equal probabilities in both sentences. Copy the values, because rounding
        # differences between batches must not break a tie.
        less[:prefix] = more[:prefix]
        if shared is not None:
            positions_more, positions_less = map(list, zip(*shared, strict=True))
            more, less = more[positions_more], less[positions_less]
            tokens = [Score(item.id, "shared_tokens", float(len(shared)))]
        else:
            tokens = [
                _build_sentence_score(item, "more", "tokens_more", float(len(more))),
                _build_sentence_score(item, "less", "tokens_less", float(len(less))),
            ]
        return [
            _build_sentence_score(item, "more", "more", more.sum()),
            _build_sentence_score(item, "less", "less", less.sum()),
            *tokens,
            Score(item.id, "difference", float(more.mean() - less.mean())),
        ]

    return score


# Functions for all models


def _build_sentence_score(item: PairItem, sentence: str, role: str, score: float) -> Score:
    """Return a score of one sentence of a pair; the id of the score is `ITEM/more` or `ITEM/less`."""
    return Score(f"{item.id}/{sentence}", role, float(score))


def drop_final_character(item: PairItem) -> PairItem:
    """Return the pair without the last character of both sentences, usually a full stop (Steinborn et al., Table 3).

    >>> drop_final_character(PairItem("knit", "en", "gender", "stereo", "She knits.", "He knits.")).more
    'She knits'
    """
    return replace(item, more=item.more[:-1], less=item.less[:-1])


def build_choice(item: PairItem) -> Choice:
    """Return the item as a choice between its two sentences."""
    return Choice("pair", "", (Option("stereotype", item.more), Option("anti-stereotype", item.less)))


BENCHMARK = Benchmark(
    form="pairs",
    protocols=PROTOCOLS,
    measures="pairs",
    ask=ask,
    item_by_item=allow_splitting,
    perturbations={
        "drop-final-character": drop_final_character,
        **build_perturbations("pairs", ("no-final-punctuation", "lower-case", "quoted", "other-names")),
    },
    choice=build_choice,
)
