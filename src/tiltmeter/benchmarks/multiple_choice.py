"""BBQ and its relatives: which of three answers does a model give to a question about two people?

A model that continues texts is given

    Context: …
    Question: …
    Answer:

in the language of the item (`choosing/languages`), and each of the three answers is scored as the continuation, without
the others being shown, as in the evaluation harnesses of the field. The answer with the highest score is the model's;
answers with the same score share the choice.

- `likelihood` (also `published`): the log-likelihood of the answer.
- `likelihood-per-character`: the same divided by the number of characters, since short answers are likelier.

An encoder-decoder fills a sentinel after the prompt. Masked models are not asked. Chat models choose between the three
answers, in all orders.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tiltmeter.benchmarks.alignment import text_positions
from tiltmeter.benchmarks.benchmark import Asked, Benchmark, CannotAsk, Score, ShownScores, Skipped, Trial, always
from tiltmeter.benchmarks.choosing.shares import ANSWERED
from tiltmeter.benchmarks.choosing.wordings import prompt_words
from tiltmeter.benchmarks.perturbing import text_perturbations
from tiltmeter.errors import UsageError
from tiltmeter.forms.multiple_choice import ROLES, MultipleChoiceItem, role_name
from tiltmeter.questions import Answer, Choice, Encoded, Option, Question, Text

PUBLISHED, LIKELIHOOD, PER_CHARACTER = "published", "likelihood", "likelihood-per-character"
PROTOCOLS = {
    PUBLISHED: f"the same as `{LIKELIHOOD}`",
    LIKELIHOOD: "the log-likelihood of each answer after the question",
    PER_CHARACTER: "the same divided by the number of characters of the answer",
}

_NO_TOKEN = "one of its answers has no token"
_SAME = "two of its answers have the same text"


def ask(part: str, items: Sequence[MultipleChoiceItem], text: Text, *, protocol: str) -> Asked:
    """Turn questions about one part into questions for a model with this tokenizer."""
    del part  # it is a property of the items
    if protocol not in PROTOCOLS:
        raise UsageError(f"{protocol!r} is not a protocol of multiple-choice questions; choose {', '.join(PROTOCOLS)}.")
    if text.kind == "masked":
        raise CannotAsk(
            "An answer of several words after a question has no likelihood in a masked model, which predicts single "
            "tokens in their place; ask a causal model, an encoder-decoder or a chat model."
        )
    asked = Asked(text.kind, LIKELIHOOD if protocol == PUBLISHED else protocol)
    told_apart = [item for item in items if len({item.answer(role).casefold() for role in ROLES}) == len(ROLES)]
    asked.skipped += [Skipped(item.id, _SAME) for item in items if item not in told_apart]
    questions = (_filled if text.kind == "seq2seq" else _continued)(told_apart, text)
    for item in told_apart:
        of_item = [next(questions) for _ in ROLES]
        if all(question.wanted for question in of_item):
            asked.trials.append(Trial(item, tuple(of_item), _scorer(item, per_character=protocol == PER_CHARACTER)))
        else:
            asked.skipped.append(Skipped(item.id, _NO_TOKEN))
    return asked


def _prompts(items: Sequence[MultipleChoiceItem]) -> list[tuple[str, str]]:
    """The prompt and the answer, for each answer of each item."""
    words = {language: prompt_words(language) for language in {item.language for item in items}}
    return [
        (words[item.language].text(item.context.strip(), item.question.strip()), item.answer(role))
        for item in items
        for role in ROLES
    ]


def _continued(items: Sequence[MultipleChoiceItem], text: Text) -> Iterator[Question]:
    """The questions for a causal model: the tokens of the answer, with the space before it, after the prompt."""
    prompts = _prompts(items)
    texts = [f"{prompt} {answer}" for prompt, answer in prompts]
    whole, own = text.encode_whole(texts), text.encode(texts, offsets=text.has_offsets)
    shorter = [()] * len(texts) if text.has_offsets else [e.ids for e in text.encode([prompt for prompt, _ in prompts])]
    for (prompt, _), encoded, alone, before in zip(prompts, whole, own, shorter, strict=True):
        positions = text_positions(encoded, alone)
        first = positions.start + (_first_after(alone, len(prompt)) if text.has_offsets else len(before))
        ids = encoded.ids[: positions.stop]
        yield Question(ids, tuple((at - 1, ids[at]) for at in range(max(1, first), len(ids))))


def _first_after(encoded: Encoded, characters: int) -> int:
    """The index of the first token that ends after so many characters."""
    return next((at for at, (_, end) in enumerate(encoded.offsets) if end > characters), len(encoded.ids))


def _filled(items: Sequence[MultipleChoiceItem], text: Text) -> Iterator[Question]:
    """The questions for an encoder-decoder: the answer as the filling of a sentinel after the prompt."""
    if text.sentinel is None or text.decoder_start is None:
        raise CannotAsk(
            "The tokenizer has no sentinel <extra_id_0>, so the model was not trained to fill a gap as T5 was."
        )
    prompts = _prompts(items)
    sources = text.encode_whole([f"{prompt} {text.sentinel_text}" for prompt, _ in prompts])
    lead = (text.decoder_start, text.sentinel)
    for source, answer in zip(sources, text.encode([answer for _, answer in prompts]), strict=True):
        ids = (*lead, *answer.ids)
        yield Question(ids, tuple((at - 1, ids[at]) for at in range(len(lead), len(ids))), source=source.ids)


def _scorer(item: MultipleChoiceItem, *, per_character: bool) -> Callable[[Sequence[Answer]], list[Score]]:
    def score(answers: Sequence[Answer]) -> list[Score]:
        numbers = [float(answer.astype(np.float64).sum()) for answer in answers]
        if per_character:
            numbers = [number / len(item.answer(role)) for number, role in zip(numbers, ROLES, strict=True)]
        best = [number == max(numbers) for number in numbers]
        return [
            Score(f"{item.id}/{role}", name, number)
            for role, number, chosen in zip(ROLES, numbers, best, strict=True)
            for name, number in ((role_name(role), number), (f"{ANSWERED}{role}", chosen / sum(best)))
        ]

    return score


def choice(item: MultipleChoiceItem) -> Choice:
    """The item as a choice between its three answers."""
    options = tuple(Option(role, item.answer(role)) for role in ROLES)
    return Choice("question", f"{item.context.strip()}\n\n{item.question.strip()}", options)


BENCHMARK = Benchmark(
    form="multiple-choice",
    protocols=PROTOCOLS,
    measures="multiple_choice",
    ask=ask,
    item_by_item=always,
    perturbations=text_perturbations("multiple-choice", ("lower-case",)),
    shown=ShownScores(tuple(role_name(role) for role in ROLES), "difference"),
    choice=choice,
    choice_measures="multiple_choice",
)
