"""BBQ and similar data sets: which of three answers does a model give to a question about two people?

A causal model gets the prompt

    Context: …
    Question: …
    Answer:

in the language of the item (`forced_choice/languages`). As in common evaluation harnesses, the prompt does not list the
answers, and each of the three answers is scored as the continuation of the prompt. The model's answer is the answer
with the highest score; if several answers have the highest score, each of them gets an equal share.

- `likelihood` (also `published`): the log-likelihood of the answer.
- `likelihood-per-character`: the log-likelihood divided by the number of characters, because short answers are more
  probable.

An encoder-decoder predicts the answer in place of a sentinel after the prompt. Masked models are not supported. Chat
models choose between the three answers, in all orders.
"""

from collections.abc import Callable, Iterator, Sequence

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
from tiltmeter.benchmarks.continuations import ContinuedPrompt, encode_continuations
from tiltmeter.benchmarks.forced_choice.choice_scores import ANSWERED
from tiltmeter.benchmarks.forced_choice.wordings import load_prompt_words
from tiltmeter.benchmarks.perturbations import build_perturbations
from tiltmeter.benchmarks.token_alignment import find_text_positions
from tiltmeter.errors import UsageError
from tiltmeter.forms.multiple_choice import ROLES, MultipleChoiceItem, format_role_name
from tiltmeter.questions import Answer, Choice, Ids, Option, Question, Tokenizer

PUBLISHED, LIKELIHOOD, PER_CHARACTER = "published", "likelihood", "likelihood-per-character"
PROTOCOLS = {
    PUBLISHED: f"the same as `{LIKELIHOOD}`",
    LIKELIHOOD: "the log-likelihood of each answer as continuation of the question",
    PER_CHARACTER: f"`{LIKELIHOOD}` divided by the number of characters of the answer",
}

_NO_TOKEN = "one of the three answers has no token"
_SAME = "two of the three answers have the same text"


def ask(part: str, items: Sequence[MultipleChoiceItem], text: Tokenizer, *, protocol: str) -> PartTrials:
    """Return the questions about the items of one part, for a model with the tokenizer `text`."""
    del part  # the prompts do not depend on the part
    if protocol not in PROTOCOLS:
        raise UsageError(
            f"{protocol!r} is not a protocol of multiple-choice questions; choose one of {', '.join(PROTOCOLS)}."
        )
    if text.kind == "masked":
        raise UnsupportedPart(
            "A masked model has no likelihood for an answer of several words after a question; use a causal model, an "
            "encoder-decoder or a chat model."
        )
    result = PartTrials(text.kind, LIKELIHOOD if protocol == PUBLISHED else protocol)
    distinct = []
    for item in items:
        if len({item.get_answer(role).casefold() for role in ROLES}) == len(ROLES):
            distinct.append(item)
        else:
            result.skipped.append(SkippedItem(item.id, _SAME))
    questions = (_build_sentinel_questions if text.kind == "seq2seq" else _build_causal_questions)(distinct, text)
    for item in distinct:
        of_item = [next(questions) for _ in ROLES]
        if all(question.wanted for question in of_item):
            result.trials.append(
                Trial(item, tuple(of_item), _build_scorer(item, per_character=protocol == PER_CHARACTER))
            )
        else:
            result.skipped.append(SkippedItem(item.id, _NO_TOKEN))
    return result


def _build_prompts(items: Sequence[MultipleChoiceItem]) -> list[ContinuedPrompt]:
    words = {language: load_prompt_words(language) for language in {item.language for item in items}}
    return [
        ContinuedPrompt(
            words[item.language].build_prompt(item.context.strip(), item.question.strip()),
            tuple([item.get_answer(role) for role in ROLES]),
        )
        for item in items
    ]


def _build_causal_questions(items: Sequence[MultipleChoiceItem], text: Tokenizer) -> Iterator[Question]:
    """Yield a question for the tokens of each answer after the prompt, including the space before the answer."""
    prompts = _build_prompts(items)
    if not prompts:
        return
    lead = _find_leading_tokens(text, prompts[0].texts[0])
    for answers in encode_continuations(text, prompts):
        for answer in answers:
            ids = (*lead, *answer.ids)
            first = max(1, len(lead) + answer.first)
            yield Question(ids, tuple([(at - 1, ids[at]) for at in range(first, len(ids))]))


def _find_leading_tokens(text: Tokenizer, written: str) -> Ids:
    """Return the special tokens that the tokenizer puts before every text; `written` is any text."""
    (whole,), (alone,) = text.encode_with_special_tokens([written]), text.encode([written])
    return whole.ids[: find_text_positions(whole, alone).start]


def _build_sentinel_questions(items: Sequence[MultipleChoiceItem], text: Tokenizer) -> Iterator[Question]:
    """Yield a question for each answer, which the decoder predicts in place of a sentinel token after the prompt."""
    if text.sentinel is None or text.decoder_start is None:
        raise UnsupportedPart(
            "The tokenizer has no sentinel <extra_id_0>, so the model was not trained to fill blanks like T5."
        )
    prompts = _build_prompts(items)
    sources = text.encode_with_special_tokens([f"{prompt.text} {text.sentinel_text}" for prompt in prompts])
    answers = iter(text.encode([answer for prompt in prompts for answer in prompt.continuations]))
    lead = (text.decoder_start, text.sentinel)
    for source, answer in ((source, next(answers)) for source in sources for _ in ROLES):
        ids = (*lead, *answer.ids)
        yield Question(ids, tuple((at - 1, ids[at]) for at in range(len(lead), len(ids))), source=source.ids)


def _build_scorer(item: MultipleChoiceItem, *, per_character: bool) -> Callable[[Sequence[Answer]], list[Score]]:
    def score(answers: Sequence[Answer]) -> list[Score]:
        numbers = [float(answer.astype(np.float64).sum()) for answer in answers]
        if per_character:
            numbers = [number / len(item.get_answer(role)) for number, role in zip(numbers, ROLES, strict=True)]
        best = [number == max(numbers) for number in numbers]
        return [
            Score(f"{item.id}/{role}", name, number)
            for role, number, chosen in zip(ROLES, numbers, best, strict=True)
            for name, number in ((format_role_name(role), number), (f"{ANSWERED}{role}", chosen / sum(best)))
        ]

    return score


def build_choice(item: MultipleChoiceItem) -> Choice:
    """Return the item as a choice between its three answers."""
    options = tuple(Option(role, item.get_answer(role)) for role in ROLES)
    return Choice("question", f"{item.context.strip()}\n\n{item.question.strip()}", options)


BENCHMARK = Benchmark(
    form="multiple-choice",
    protocols=PROTOCOLS,
    measures="multiple_choice",
    ask=ask,
    item_by_item=allow_splitting,
    perturbations=build_perturbations("multiple-choice", ("lower-case",)),
    choice=build_choice,
    choice_measures="multiple_choice",
)
