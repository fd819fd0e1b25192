"""StereoSet: does a model choose the stereotypical, the anti-stereotypical or the unrelated candidate?

Two parts. Intrasentence candidates fill a BLANK inside a sentence; intersentence candidates follow it. How a candidate
is scored depends on the kind of the model; `docs/stereoset.md` has the formulas. Two protocols ask the same things:

- `published`: as the released code of Öztürk et al. (2023) does it, re-tokenising strings.
- `in-context`: the candidate is found by character offsets in the tokenised whole, so that byte-level and
  SentencePiece models see every candidate as they would in running text; causal models get a start token.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from tiltmeter.benchmarks.benchmark import Asked, Benchmark, CannotAsk, Score, ShownScores, Skipped, Trial, log_mean
from tiltmeter.errors import UsageError
from tiltmeter.forms.association import PARTS, AssociationItem, Candidate
from tiltmeter.forms.blank import BLANK
from tiltmeter.questions import Answer, Encoded, Ids, Question, Text

# The six ways of Öztürk (2022, Table 3.4) to score a candidate sentence after its context with a causal model.
Case = Literal["orig", "b", "c", "d", "e", "f"]
DEFAULT_CASE: Case = "d"
PROTOCOLS = ("published", "in-context")


@dataclass(frozen=True, slots=True)
class AssociationProtocol:
    """How candidates are scored; `case` matters to causal models between sentences alone."""

    name: str = "published"
    case: Case = DEFAULT_CASE

    @classmethod
    def parse(cls, text: str) -> "AssociationProtocol":
        """`published`, `in-context`, or one of them with a case: `published/c`."""
        name, _, case = text.partition("/")
        if name not in PROTOCOLS or (case and case not in get_args(Case)):
            raise UsageError(
                f"{text!r} is not a protocol of StereoSet; choose {' or '.join(PROTOCOLS)}, for causal models followed "
                f"by a case if it is not to be {DEFAULT_CASE}: published/{', published/'.join(get_args(Case))}."
            )
        return cls(name, cast(Case, case or DEFAULT_CASE))

    @property
    def in_context(self) -> bool:
        """Whether candidates are found by offsets."""
        return self.name == "in-context"

    @property
    def full_name(self) -> str:
        """With the case, where it is not the default one."""
        return self.name if self.case == DEFAULT_CASE else f"{self.name}/{self.case}"


def ask(part: str, items: Sequence[AssociationItem], text: Text, *, protocol: str) -> Asked:
    """Turn the items of one part into questions for a model with this text side."""
    chosen = AssociationProtocol.parse(protocol)
    if part not in PARTS:
        raise UsageError(f"StereoSet has no part {part!r}; its parts are {' and '.join(PARTS)}.")
    if part == "intersentence":
        return _ask_intersentence(items, text, chosen)
    if chosen.in_context:
        _need_offsets(text)
    asked = Asked(text.kind, chosen.name)
    if text.kind == "causal":
        _ask_causal_sentences(asked, items, text, chosen)
    elif chosen.in_context:
        _ask_blank_in_context(asked, items, text)
    else:
        _ask_blank(asked, items, text)
    return asked


# Within a sentence


def _ask_blank(asked: Asked, items: Sequence[AssociationItem], text: Text) -> None:
    """Unmask the pieces of the candidate word from left to right; the score is the mean of their probabilities."""
    mask, mask_text = _blank_token(text)
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    words = text.encode([candidate.word for _, candidate in candidates])
    steps = [
        item.context.replace(BLANK, text.decode(word.ids[:shown]) + mask_text)
        for (item, _), word in zip(candidates, words, strict=True)
        for shown in range(len(word.ids))
    ]
    sentences = iter(text.encode_whole(steps))
    unmasked = ([(next(sentences).ids, piece) for piece in word.ids] for word in words)
    _add_blanks(asked, items, unmasked, text, mask)


def _ask_blank_in_context(asked: Asked, items: Sequence[AssociationItem], text: Text) -> None:
    """The same questions, but made of the tokens of the filled sentence."""
    mask, _ = _blank_token(text)
    single = [item for item in items if item.context.count(BLANK) == 1]
    candidates = [(item, candidate) for item in single for candidate in item.candidates]
    filled = text.encode_whole(
        [item.context.replace(BLANK, candidate.word) for item, candidate in candidates], offsets=True
    )
    unmasked: list[list[tuple[Ids, int]]] = []
    for (item, candidate), whole in zip(candidates, filled, strict=True):
        start = item.context.index(BLANK)
        first, last = _tokens_between(whole, start, start + len(candidate.word))
        unmasked.append(
            [((*whole.ids[:place], mask, *whole.ids[last:]), whole.ids[place]) for place in range(first, last)]
        )
    twice = {item.id for item in items} - {item.id for item in single}
    asked.skipped += [Skipped(i, f"{BLANK} stands in the context more than once") for i in sorted(twice)]
    _add_blanks(asked, single, unmasked, text, mask)


def _add_blanks(
    asked: Asked, items: Sequence[AssociationItem], unmasked: Iterable[list[tuple[Ids, int]]], text: Text, mask: int
) -> None:
    """One trial for each item, given the steps of each candidate: an input with the mask, and the piece wanted there.

    Candidates often share a step, the first one mostly: what is wanted of one input is one question.
    """
    steps_of = iter(unmasked)
    for item in items:
        inputs: dict[Ids, tuple[int, list[int]]] = {}  # with the number of each, and the pieces wanted of it
        places: list[list[tuple[int, int]]] = []
        for _ in item.candidates:
            own = []
            for ids, piece in next(steps_of):
                if ids not in inputs:
                    inputs[ids] = len(inputs), []
                number, pieces = inputs[ids]
                if piece not in pieces:
                    pieces.append(piece)
                own.append((number, pieces.index(piece)))
            places.append(own)
        if all(places):
            questions = [_blank_question(text, ids, mask, pieces) for ids, (_, pieces) in inputs.items()]
            asked.trials.append(Trial(item, tuple(questions), MeanOfPieces(item.candidates, places)))
        else:
            asked.skipped.append(Skipped(item.id, "a candidate word has no token"))


@dataclass(slots=True)
class MeanOfPieces:
    """The scores of an item's candidates: the mean of the probabilities of the pieces of each.

    `places` tells where they are among the answers, for each candidate: in which answer, and where in it.
    """

    candidates: Sequence[Candidate]
    places: Sequence[Sequence[tuple[int, int]]]

    def __call__(self, answers: Sequence[Answer]) -> list[Score]:
        """One score for each candidate."""
        # A word has few pieces: plain numbers are quicker here than arrays.
        probabilities = [[math.exp(value) for value in answer.tolist()] for answer in answers]
        return [
            Score(candidate.id, candidate.role, sum([probabilities[a][b] for a, b in own]) / len(own))
            for candidate, own in zip(self.candidates, self.places, strict=True)
        ]


def _blank_token(text: Text) -> tuple[int, str]:
    """What stands for the missing word: the mask, or an encoder-decoder's first sentinel."""
    if text.kind == "masked":
        if text.mask is None:
            raise CannotAsk("The tokenizer has no mask token, so nothing can be left blank in a sentence.")
        return text.mask, text.mask_text
    if text.sentinel is None or text.decoder_start is None:
        raise CannotAsk(
            "The tokenizer has no sentinel <extra_id_0>, so the model was not trained to fill blanks as T5 was."
        )
    return text.sentinel, text.sentinel_text


def _blank_question(text: Text, ids: Ids, mask: int, pieces: Sequence[int]) -> Question:
    if text.kind == "masked":
        place = ids.index(mask)
        return Question(ids, tuple([(place, piece) for piece in pieces]))
    # The decoder is given the sentinel, and the pieces are read after it.
    return Question((cast(int, text.decoder_start), mask), tuple([(1, piece) for piece in pieces]), source=ids)


def _ask_causal_sentences(
    asked: Asked, items: Sequence[AssociationItem], text: Text, protocol: AssociationProtocol
) -> None:
    """The geometric mean of the probabilities of all tokens of the candidate's sentence."""
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    sentences = text.encode([candidate.sentence for _, candidate in candidates])
    trials: dict[str, list[Trial]] = {}
    for (item, candidate), sentence in zip(candidates, sentences, strict=True):
        questions = tuple(_likelihood(text, sentence.ids, protocol.in_context)) if sentence.ids else ()
        trials.setdefault(item.id, []).append(Trial(item, questions, _scorer(candidate, _geometric_mean)))
    _keep_whole_items(asked, items, trials, "a candidate sentence has no token that can be scored")


def _likelihood(text: Text, ids: tuple[int, ...], start_in_front: bool) -> Iterator[Question]:
    """Questions whose answers, all together, are the log-probabilities of every token of `ids`.

    Published: the first token is read after the start token alone, the others from the text without it. Otherwise
    the start token stands in front of all. A model without a start token leaves the first token out.
    """
    if text.start is None:
        yield from _next_tokens(ids)
    elif start_in_front:
        yield from _next_tokens((text.start, *ids))
    else:
        yield Question((text.start,), ((0, ids[0]),))
        yield from _next_tokens(ids)


def _next_tokens(ids: tuple[int, ...], first: int = 1) -> Iterator[Question]:
    """The log-probabilities of the tokens from place `first` on, each after those before it; none if there is none."""
    if wanted := tuple((place - 1, ids[place]) for place in range(first, len(ids))):
        yield Question(ids, wanted)


# Between sentences


def _ask_intersentence(items: Sequence[AssociationItem], text: Text, protocol: AssociationProtocol) -> Asked:
    if text.kind == "masked":
        if not text.next_sentence:
            raise CannotAsk("The model has no next-sentence head, so it cannot be asked what follows a sentence.")
        asked = Asked("next-sentence", protocol.name)
        _ask_next_sentence(asked, items, text)
    elif text.kind == "causal":
        asked = Asked("causal", protocol.full_name)
        _ask_causal_pairs(asked, items, text, protocol)
    else:
        asked = Asked("seq2seq", protocol.name)
        _ask_teacher_forced(asked, items, text, protocol)
    return asked


def _ask_next_sentence(asked: Asked, items: Sequence[AssociationItem], text: Text) -> None:
    """The probability that the candidate is the next sentence."""
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    pairs = text.encode_pairs([(item.context, candidate.sentence) for item, candidate in candidates])
    for (item, candidate), pair in zip(candidates, pairs, strict=True):
        question = Question(pair.ids, ((0, 0),), segments=pair.segments)
        asked.trials.append(Trial(item, (question,), _scorer(candidate, _probability)))


def _ask_causal_pairs(
    asked: Asked, items: Sequence[AssociationItem], text: Text, protocol: AssociationProtocol
) -> None:
    """One of the six cases: ratios of geometric means over the candidate, the context and both together."""
    if protocol.in_context:
        _need_offsets(text)
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    contexts = [_ended(item.context) for item, _ in candidates]
    wholes = text.encode(
        [f"{_ended(item.context)} {candidate.sentence}" for item, candidate in candidates], offsets=protocol.in_context
    )
    alone = text.encode([candidate.sentence for _, candidate in candidates])
    context_lengths = [len(encoded.ids) for encoded in text.encode(contexts)]
    trials: dict[str, list[Trial]] = {}
    for (item, candidate), context, whole, only, length in zip(
        candidates, contexts, wholes, alone, context_lengths, strict=True
    ):
        if protocol.in_context:
            length, _ = _tokens_between(whole, len(context) + 1, len(context) + 1 + len(candidate.sentence))
        trials.setdefault(item.id, []).append(_case_trial(item, candidate, whole, only, length, text, protocol))
    _keep_whole_items(asked, items, trials, "the context or a candidate has no token that can be scored")


def _case_trial(
    item: AssociationItem,
    candidate: Candidate,
    whole: Encoded,
    alone: Encoded,
    context_length: int,
    text: Text,
    protocol: AssociationProtocol,
) -> Trial:
    """The questions of one case: those above the fraction line first, then those below."""
    in_front = protocol.in_context
    # In front of the context stands the start token, or nothing.
    lead = (text.start,) if in_front and text.start is not None else ()
    ids = (*lead, *whole.ids)
    context_end = len(lead) + context_length

    def of_candidate() -> list[Question]:
        return list(_next_tokens(ids, first=context_end))

    def of_context() -> list[Question]:
        return list(_likelihood(text, whole.ids[:context_length], in_front)) if context_length else []

    def of_whole() -> list[Question]:
        return list(_likelihood(text, whole.ids, in_front)) if whole.ids else []

    def of_candidate_alone() -> list[Question]:
        return list(_likelihood(text, alone.ids, in_front)) if alone.ids else []

    above, below = {
        "orig": (of_candidate_alone, of_context),
        "b": (of_candidate, of_whole),
        "c": (of_whole, None),
        "d": (of_candidate, None),
        "e": (of_candidate, of_candidate_alone),
        "f": (of_whole, of_candidate_alone),
    }[protocol.case]
    upper = above()
    lower = below() if below else []
    complete = bool(upper) and (below is None or bool(lower))

    def score(answers: Sequence[Answer]) -> float:
        logarithm = log_mean(answers[: len(upper)])
        return math.exp(logarithm - log_mean(answers[len(upper) :]) if lower else logarithm)

    return Trial(item, tuple(upper + lower) if complete else (), _scorer(candidate, score))


def _ask_teacher_forced(
    asked: Asked, items: Sequence[AssociationItem], text: Text, protocol: AssociationProtocol
) -> None:
    """The geometric mean of the probabilities of the candidate's tokens, put in the place of a sentinel."""
    sentinel, sentinel_text = _blank_token(text)
    candidates = [(item, candidate) for item in items for candidate in item.candidates]
    sources = text.encode_whole([f"{_ended(item.context)} {sentinel_text}" for item, _ in candidates])
    if protocol.in_context:
        targets = [
            (cast(int, text.decoder_start), sentinel, *encoded.ids)
            for encoded in text.encode([candidate.sentence for _, candidate in candidates])
        ]
    else:
        # As released: special tokens are written as text, and the final </s> counts as a token of the candidate.
        written = [f"{text.pad_text} {sentinel_text} {candidate.sentence}" for _, candidate in candidates]
        targets = [encoded.ids for encoded in text.encode_whole(written)]
    trials: dict[str, list[Trial]] = {}
    for (item, candidate), source, target in zip(candidates, sources, targets, strict=True):
        questions = tuple(
            Question(question.ids, question.wanted, source=source.ids) for question in _next_tokens(target, first=2)
        )
        trials.setdefault(item.id, []).append(Trial(item, questions, _scorer(candidate, _geometric_mean)))
    _keep_whole_items(asked, items, trials, "a candidate sentence has no token")


def _ended(context: str) -> str:
    """The released code closes a context that has no final punctuation before it continues it."""
    return context if context.endswith((".", "!", "?")) else f"{context}."


# Shared


def _need_offsets(text: Text) -> None:
    if not text.has_offsets:
        raise CannotAsk("The in-context protocol needs a fast tokenizer, which tells the characters of each token.")


def _tokens_between(whole: Encoded, start: int, end: int) -> tuple[int, int]:
    """The first token that covers a character of [start, end), and the one after the last; (0, 0) if there is none."""
    covering = [place for place, (first, last) in enumerate(whole.offsets) if first < end and last > start]
    return (covering[0], covering[-1] + 1) if covering else (0, 0)


def _probability(answers: Sequence[Answer]) -> float:
    return math.exp(answers[0].item())


def _geometric_mean(answers: Sequence[Answer]) -> float:
    return math.exp(log_mean(answers))


def _scorer(
    candidate: Candidate, score: Callable[[Sequence[Answer]], float]
) -> Callable[[Sequence[Answer]], list[Score]]:
    return lambda answers: [Score(candidate.id, candidate.role, score(answers))]


def _keep_whole_items(
    asked: Asked, items: Sequence[AssociationItem], trials: dict[str, list[Trial]], reason: str
) -> None:
    """Keep the items all of whose candidates can be scored; say so of the others."""
    for item in items:
        if all(trial.questions for trial in trials[item.id]):
            asked.trials += trials[item.id]
        else:
            asked.skipped.append(Skipped(item.id, reason))


BENCHMARK = Benchmark(
    form="association",
    protocols=PROTOCOLS,
    measures="association",
    ask=ask,
    shown=ShownScores(("stereotype", "anti-stereotype", "unrelated"), "ratio"),
)
