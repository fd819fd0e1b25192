"""StereoSet: does a model prefer the stereotypical, the anti-stereotypical or the unrelated candidate?

Intrasentence candidates fill a BLANK inside a sentence; intersentence candidates follow it. The score of a candidate
depends on the kind of model; `docs/explanation/stereoset.md` has the formulas. There are two protocols:

- `published`: as in the released code of Öztürk et al. (2023), which decodes tokens to text and tokenises this text.
- `in-context`: the candidate's tokens are located by character offsets in the tokenised sentence, so that byte-level
  and SentencePiece tokenizers split candidates as in running text. Causal models get a start token.

Intrasentence items whose candidates are whole sentences have no word to fill in. For these items, both protocols use
`whole-sentence`. It scores causal models as in `published`. It scores masked models by the geometric mean of the token
probabilities, with each token masked in turn (pseudo-log-likelihood, Salazar et al. 2020).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from tiltmeter.benchmarks.benchmark import (
    Benchmark,
    PartTrials,
    Score,
    SkippedItem,
    Trial,
    UnsupportedPart,
    compute_log_mean,
)
from tiltmeter.benchmarks.perturbations import build_perturbations
from tiltmeter.benchmarks.token_alignment import find_text_positions, find_tokens_between
from tiltmeter.errors import UsageError
from tiltmeter.forms.association import PARTS, ROLES, AssociationItem, Candidate
from tiltmeter.forms.blank import BLANK
from tiltmeter.questions import Answer, Choice, EncodedText, Ids, Option, Question, Task, Tokenizer

# The six ways to score a candidate sentence after its context with a causal model (Öztürk 2022, Table 3.4).
Case = Literal["orig", "b", "c", "d", "e", "f"]
DEFAULT_CASE: Case = "d"
PROTOCOLS = {
    "published": "as in the released code of Öztürk et al. (2023): candidates are tokenised without their sentence",
    "in-context": "tokenises candidates within their sentence; causal models get a start token",
    **{
        f"published/{case}": f"`published`, but causal models score next sentences by case {case} of Öztürk (2022)"
        for case in get_args(Case)
        if case != DEFAULT_CASE
    },
}
_NAMES = ("published", "in-context")
# The protocol of intrasentence items whose candidates are whole sentences.
WHOLE_SENTENCE = "whole-sentence"


@dataclass(frozen=True, slots=True)
class AssociationProtocol:
    """How candidates are scored; the scoring case (`Case`) is used only for intersentence items with causal models."""

    name: str = "published"
    case: Case = DEFAULT_CASE

    @classmethod
    def parse(cls, text: str) -> "AssociationProtocol":
        """Return the protocol that `text` names: `published` or `in-context`, or with a scoring case, `published/c`."""
        name, _, case = text.partition("/")
        if name not in _NAMES or (case and case not in get_args(Case)):
            raise UsageError(
                f"{text!r} is not a protocol of StereoSet; choose {' or '.join(_NAMES)}. To score causal "
                f"models by another case than {DEFAULT_CASE}, add it: published/{', published/'.join(get_args(Case))}."
            )
        return cls(name, cast(Case, case or DEFAULT_CASE))

    @property
    def is_in_context(self) -> bool:
        """Whether the protocol is `in-context`."""
        return self.name == "in-context"

    @property
    def full_name(self) -> str:
        """The name of the protocol, followed by the scoring case if it is not the default case."""
        return self.name if self.case == DEFAULT_CASE else f"{self.name}/{self.case}"


def ask(part: str, items: Sequence[AssociationItem], text: Tokenizer, *, protocol: str) -> PartTrials:
    """Return the questions about the items of one part of StereoSet, for a model with the tokenizer `text`."""
    chosen = AssociationProtocol.parse(protocol)
    if part not in PARTS:
        raise UsageError(f"StereoSet has no part {part!r}; choose {' or '.join(PARTS)}.")
    if part == "intersentence":
        return _ask_intersentence(items, text, chosen)
    if any(item.whole for item in items):
        return _ask_whole_sentences(items, text, chosen)
    if chosen.is_in_context:
        _require_offsets(text)
    result = PartTrials(text.kind, chosen.name)
    if text.kind == "causal":
        _ask_causal_sentences(result, items, text, chosen)
    elif chosen.is_in_context:
        _ask_blank_words_in_context(result, items, text)
    else:
        _ask_blank_words(result, items, text)
    return result


# Functions for intrasentence items


def _ask_blank_words(result: PartTrials, items: Sequence[AssociationItem], text: Tokenizer) -> None:
    """Add questions that predict the tokens of each word from left to right; the score is the mean probability."""
    mask, mask_text = _find_blank_token(text)
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    words = text.encode([candidate.word for _, candidate in candidates])
    steps = [
        item.context.replace(BLANK, text.decode(word.ids[:shown]) + mask_text)
        for (item, _), word in zip(candidates, words, strict=True)
        for shown in range(len(word.ids))
    ]
    sentences = iter(text.encode_with_special_tokens(steps))
    unmasked = ([(next(sentences).ids, piece) for piece in word.ids] for word in words)
    _add_blanks(result, items, unmasked, text, mask)


def _ask_blank_words_in_context(result: PartTrials, items: Sequence[AssociationItem], text: Tokenizer) -> None:
    """Add questions as `_ask_blank_words` does, but tokenise the candidate word as a part of its sentence."""
    mask, _ = _find_blank_token(text)
    single = [item for item in items if item.context.count(BLANK) == 1]
    candidates = [(item, candidate) for item in single for candidate in item.candidates]
    filled = text.encode_with_special_tokens(
        [item.context.replace(BLANK, candidate.word) for item, candidate in candidates], offsets=True
    )
    unmasked: list[list[tuple[Ids, int]]] = []
    for (item, candidate), whole in zip(candidates, filled, strict=True):
        start = item.context.index(BLANK)
        first, last = find_tokens_between(whole, start, start + len(candidate.word))
        unmasked.append(
            [((*whole.ids[:index], mask, *whole.ids[last:]), whole.ids[index]) for index in range(first, last)]
        )
    twice = {item.id for item in items} - {item.id for item in single}
    result.skipped += [SkippedItem(i, f"{BLANK} occurs more than once in the context") for i in sorted(twice)]
    _add_blanks(result, single, unmasked, text, mask)


def _add_blanks(
    result: PartTrials,
    items: Sequence[AssociationItem],
    unmasked: Iterable[list[tuple[Ids, int]]],
    text: Tokenizer,
    mask: int,
) -> None:
    """Add one trial (the questions about an item, and their scorer) for each item.

    `unmasked` has a list of steps for each candidate. A step is (input ids with a mask, token to predict). Candidates
    of an item often have the same input, so all steps with the same input become one question.
    """
    steps_of = iter(unmasked)
    for item in items:
        inputs: dict[Ids, tuple[int, list[int]]] = {}  # maps input ids to (index of the question, requested tokens)
        piece_indices: list[list[tuple[int, int]]] = []
        for _ in item.candidates:
            indices = []
            for ids, piece in next(steps_of):
                if ids not in inputs:
                    inputs[ids] = len(inputs), []
                question, pieces = inputs[ids]
                if piece not in pieces:
                    pieces.append(piece)
                indices.append((question, pieces.index(piece)))
            piece_indices.append(indices)
        if all(piece_indices):
            questions = [_build_blank_question(text, ids, mask, pieces) for ids, (_, pieces) in inputs.items()]
            result.trials.append(Trial(item, tuple(questions), MeanTokenScorer(item.candidates, piece_indices)))
        else:
            result.skipped.append(SkippedItem(item.id, "a candidate word has no token"))


@dataclass(slots=True)
class MeanTokenScorer:
    """Score each candidate of an item by the mean probability of its tokens.

    `piece_indices` has, for each candidate, one pair per token: (index of the answer, index within this answer).
    """

    candidates: Sequence[Candidate]
    piece_indices: Sequence[Sequence[tuple[int, int]]]

    def __call__(self, answers: Sequence[Answer]) -> list[Score]:
        """Return one score for each candidate."""
        # Python floats are faster than arrays here, because a word has few tokens.
        probabilities = [[math.exp(value) for value in answer.tolist()] for answer in answers]
        return [
            Score(candidate.id, candidate.role, sum([probabilities[a][b] for a, b in indices]) / len(indices))
            for candidate, indices in zip(self.candidates, self.piece_indices, strict=True)
        ]


def _find_blank_token(text: Tokenizer) -> tuple[int, str]:
    """Return the id and the text of the mask token, or of the first sentinel token of an encoder-decoder."""
    if text.kind == "masked":
        if text.mask is None:
            raise UnsupportedPart("The tokenizer has no mask token, so no word of a sentence can be masked.")
        return text.mask, text.mask_text
    if text.sentinel is None or text.decoder_start is None:
        raise UnsupportedPart(
            "The tokenizer has no sentinel <extra_id_0>, so the model was not trained to fill blanks like T5."
        )
    return text.sentinel, text.sentinel_text


def _build_blank_question(text: Tokenizer, ids: Ids, mask: int, pieces: Sequence[int]) -> Question:
    if text.kind == "masked":
        position = ids.index(mask)
        return Question(ids, tuple([(position, piece) for piece in pieces]))
    # The decoder predicts the candidate's tokens after the sentinel.
    return Question((cast(int, text.decoder_start), mask), tuple([(1, piece) for piece in pieces]), source=ids)


def _ask_causal_sentences(
    result: PartTrials, items: Sequence[AssociationItem], text: Tokenizer, protocol: AssociationProtocol
) -> None:
    """Add questions that score a candidate by the geometric mean of the probabilities of its sentence's tokens."""
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    sentences = text.encode([candidate.sentence for _, candidate in candidates])
    trials: dict[str, list[Trial]] = {}
    for (item, candidate), sentence in zip(candidates, sentences, strict=True):
        questions = (
            tuple(_build_likelihood_questions(text, sentence.ids, protocol.is_in_context)) if sentence.ids else ()
        )
        trials.setdefault(item.id, []).append(Trial(item, questions, _build_scorer(candidate, _compute_geometric_mean)))
    _add_complete_items(result, items, trials, "a candidate sentence has no token that can be scored")


def _build_likelihood_questions(text: Tokenizer, ids: tuple[int, ...], start_in_front: bool) -> Iterator[Question]:
    """Yield questions whose answers together are the log-probabilities of all tokens of `ids`.

    With `start_in_front`, all tokens are conditioned on the start token. Otherwise (protocol `published`), only the
    first token is conditioned on the start token. If the tokenizer has no start token, the first token is not scored.
    """
    if text.start is None:
        yield from _build_next_token_questions(ids)
    elif start_in_front:
        yield from _build_next_token_questions((text.start, *ids))
    else:
        yield Question((text.start,), ((0, ids[0]),))
        yield from _build_next_token_questions(ids)


def _build_next_token_questions(ids: tuple[int, ...], first: int = 1) -> Iterator[Question]:
    """Yield one question for the log-probabilities of all tokens from index `first` on, if there are such tokens."""
    if wanted := tuple(zip(range(first - 1, len(ids) - 1), ids[first:], strict=True)):
        yield Question(ids, wanted)


def _ask_whole_sentences(
    items: Sequence[AssociationItem], text: Tokenizer, protocol: AssociationProtocol
) -> PartTrials:
    """Return questions that score whole sentences by the geometric mean of the probabilities of their tokens."""
    result = PartTrials(text.kind, WHOLE_SENTENCE)
    if text.kind == "causal":
        _ask_causal_sentences(result, items, text, protocol)
        return result
    if text.kind != "masked":
        raise UnsupportedPart("No protocol scores whole sentences with encoder-decoders; use a masked or causal model.")
    mask, _ = _find_blank_token(text)
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    sentences = [candidate.sentence for _, candidate in candidates]
    trials: dict[str, list[Trial]] = {}
    for (item, candidate), whole, own in zip(
        candidates, text.encode_with_special_tokens(sentences), text.encode(sentences), strict=True
    ):
        questions = tuple(
            Question((*whole.ids[:index], mask, *whole.ids[index + 1 :]), ((index, whole.ids[index]),))
            for index in find_text_positions(whole, own)
        )
        trials.setdefault(item.id, []).append(Trial(item, questions, _build_scorer(candidate, _compute_geometric_mean)))
    _add_complete_items(result, items, trials, "a candidate sentence has no token")
    return result


# Functions for intersentence items


def _ask_intersentence(items: Sequence[AssociationItem], text: Tokenizer, protocol: AssociationProtocol) -> PartTrials:
    if text.next_sentence:
        result = PartTrials("next-sentence", protocol.name)
        _ask_next_sentence(result, items, text)
    elif text.kind == "masked":
        raise UnsupportedPart(
            "The model has no next-sentence head, so it cannot score a sentence that follows another sentence; train a "
            "head with `tiltmeter train next-sentence`."
        )
    elif text.kind == "causal":
        result = PartTrials("causal", protocol.full_name)
        _ask_causal_pairs(result, items, text, protocol)
    else:
        result = PartTrials("seq2seq", protocol.name)
        _ask_teacher_forced(result, items, text, protocol)
    return result


def _ask_next_sentence(result: PartTrials, items: Sequence[AssociationItem], text: Tokenizer) -> None:
    """Add questions that score a candidate by the probability that it is the sentence after the context."""
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    pairs = text.encode_pairs([(item.context, candidate.sentence) for item, candidate in candidates])
    for (item, candidate), pair in zip(candidates, pairs, strict=True):
        question = Question(pair.ids, ((0, 0),), segments=pair.segments)
        result.trials.append(Trial(item, (question,), _build_scorer(candidate, _compute_probability)))


def _ask_causal_pairs(
    result: PartTrials, items: Sequence[AssociationItem], text: Tokenizer, protocol: AssociationProtocol
) -> None:
    """Add questions for one of the six scoring cases (`Case`).

    Scores are geometric means of the probabilities of the tokens of the candidate, the context or both, or ratios of
    such means.
    """
    if protocol.is_in_context:
        _require_offsets(text)
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    contexts = [_add_final_full_stop(item.context) for item, _ in candidates]
    wholes = text.encode(
        [f"{context} {candidate.sentence}" for context, (_, candidate) in zip(contexts, candidates, strict=True)],
        offsets=protocol.is_in_context,
    )
    alone = text.encode([candidate.sentence for _, candidate in candidates])
    context_lengths = [len(encoded.ids) for encoded in text.encode(contexts)]
    trials: dict[str, list[Trial]] = {}
    for (item, candidate), context, whole, only, length in zip(
        candidates, contexts, wholes, alone, context_lengths, strict=True
    ):
        if protocol.is_in_context:
            length, _ = find_tokens_between(whole, len(context) + 1, len(context) + 1 + len(candidate.sentence))
        trials.setdefault(item.id, []).append(_build_ratio_trial(item, candidate, whole, only, length, text, protocol))
    _add_complete_items(result, items, trials, "the context or a candidate has no token that can be scored")


def _build_ratio_trial(
    item: AssociationItem,
    candidate: Candidate,
    whole_text: EncodedText,
    candidate_alone: EncodedText,
    context_length: int,
    tokenizer: Tokenizer,
    protocol: AssociationProtocol,
) -> Trial:
    """Return the trial (questions and their scorer) of a candidate whose score may be a ratio of two means.

    The questions for the numerator come before the questions for the denominator, if there is a denominator.
    `whole_text` is the context followed by the candidate; `candidate_alone` is the candidate without the context.
    """
    in_front = protocol.is_in_context
    lead = (tokenizer.start,) if in_front and tokenizer.start is not None else ()
    ids = (*lead, *whole_text.ids)
    context_end = len(lead) + context_length

    def predict_candidate() -> list[Question]:
        return list(_build_next_token_questions(ids, first=context_end))

    def predict_context() -> list[Question]:
        return (
            list(_build_likelihood_questions(tokenizer, whole_text.ids[:context_length], in_front))
            if context_length
            else []
        )

    def predict_whole_text() -> list[Question]:
        return list(_build_likelihood_questions(tokenizer, whole_text.ids, in_front)) if whole_text.ids else []

    def predict_candidate_alone() -> list[Question]:
        return (
            list(_build_likelihood_questions(tokenizer, candidate_alone.ids, in_front)) if candidate_alone.ids else []
        )

    numerator, denominator = {
        "orig": (predict_candidate_alone, predict_context),
        "b": (predict_candidate, predict_whole_text),
        "c": (predict_whole_text, None),
        "d": (predict_candidate, None),
        "e": (predict_candidate, predict_candidate_alone),
        "f": (predict_whole_text, predict_candidate_alone),
    }[protocol.case]
    upper = numerator()
    lower = denominator() if denominator else []
    complete = bool(upper) and (denominator is None or bool(lower))

    def score(answers: Sequence[Answer]) -> float:
        logarithm = compute_log_mean(answers[: len(upper)])
        return math.exp(logarithm - compute_log_mean(answers[len(upper) :]) if lower else logarithm)

    return Trial(item, tuple(upper + lower) if complete else (), _build_scorer(candidate, score))


def _ask_teacher_forced(
    result: PartTrials, items: Sequence[AssociationItem], text: Tokenizer, protocol: AssociationProtocol
) -> None:
    """Add questions for encoder-decoders, in which the candidate sentence replaces a sentinel after the context.

    The score of a candidate is the geometric mean of the probabilities of its tokens.
    """
    sentinel, sentinel_text = _find_blank_token(text)
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    sources = text.encode_with_special_tokens(
        [f"{_add_final_full_stop(item.context)} {sentinel_text}" for item, _ in candidates]
    )
    if protocol.is_in_context:
        targets = [
            (cast(int, text.decoder_start), sentinel, *encoded.ids)
            for encoded in text.encode([candidate.sentence for _, candidate in candidates])
        ]
    else:
        # As in the code of Öztürk et al., special tokens are written as text, and the final </s> counts as a token.
        written = [f"{text.pad_text} {sentinel_text} {candidate.sentence}" for _, candidate in candidates]
        targets = [encoded.ids for encoded in text.encode_with_special_tokens(written)]
    trials: dict[str, list[Trial]] = {}
    for (item, candidate), source, target in zip(candidates, sources, targets, strict=True):
        questions = tuple(
            Question(question.ids, question.wanted, source=source.ids)
            for question in _build_next_token_questions(target, first=2)
        )
        trials.setdefault(item.id, []).append(Trial(item, questions, _build_scorer(candidate, _compute_geometric_mean)))
    _add_complete_items(result, items, trials, "a candidate sentence has no token")


def _add_final_full_stop(context: str) -> str:
    """Return the context, with a full stop if it has no final punctuation, as in the code of Öztürk et al. (2023)."""
    return context if context.endswith((".", "!", "?")) else f"{context}."


# Functions for both parts


def _require_offsets(text: Tokenizer) -> None:
    if not text.has_offsets:
        raise UnsupportedPart("The in-context protocol needs a fast tokenizer, which reports character positions.")


def _compute_probability(answers: Sequence[Answer]) -> float:
    return math.exp(answers[0].item())


def _compute_geometric_mean(answers: Sequence[Answer]) -> float:
    return math.exp(compute_log_mean(answers))


def _build_scorer(
    candidate: Candidate, score: Callable[[Sequence[Answer]], float]
) -> Callable[[Sequence[Answer]], list[Score]]:
    return lambda answers: [Score(candidate.id, candidate.role, score(answers))]


def _add_complete_items(
    result: PartTrials, items: Sequence[AssociationItem], trials: dict[str, list[Trial]], reason: str
) -> None:
    """Add the trials of items whose candidates can all be scored; skip the other items for the reason `reason`."""
    for item in items:
        if all(trial.questions for trial in trials[item.id]):
            result.trials += trials[item.id]
        else:
            result.skipped.append(SkippedItem(item.id, reason))


def build_choice(item: AssociationItem) -> Choice:
    """Return the item as a choice between its three candidates."""
    if item.whole:
        raise UnsupportedPart("The candidates are whole sentences, so a chat model cannot choose a word for the blank.")
    by_role = {candidate.role: candidate.text for candidate in item.candidates}
    task: Task = "blank" if item.part == "intrasentence" else "follows"
    return Choice(task, item.context, tuple(Option(role, by_role[role]) for role in ROLES))


def _are_equally_complete(items: Sequence[AssociationItem]) -> bool:
    """Return whether the items can be asked separately: all items, or none, have whole sentences as candidates.

    If only some items have whole sentences, asking the items together would change the protocol of the other items.
    """
    return len({item.whole for item in items}) < 2


BENCHMARK = Benchmark(
    form="association",
    protocols=PROTOCOLS,
    measures="association",
    ask=ask,
    item_by_item=_are_equally_complete,
    perturbations=build_perturbations("association", ("no-final-punctuation", "lower-case", "quoted", "other-names")),
    choice=build_choice,
)
