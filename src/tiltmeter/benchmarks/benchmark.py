"""The class `Benchmark` and the results of its function `ask`: trials (questions about items) and skipped items."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tiltmeter.benchmarks.forced_choice.choice_scores import ItemAnswer
from tiltmeter.benchmarks.forced_choice.option_orders import OptionOrderDesign
from tiltmeter.benchmarks.forced_choice.prompts import Prompt
from tiltmeter.benchmarks.forced_choice.reply_parser import ParsedReply
from tiltmeter.errors import TiltmeterError
from tiltmeter.forms import Item
from tiltmeter.questions import Answer, Choice, Kind, Question


class UnsupportedPart(TiltmeterError):  # noqa: N818 - often not an error: the part is skipped for this model
    """A model does not support a part of a benchmark; the message gives the reason."""


class Score(NamedTuple):
    """A score of one candidate or sentence of an item; `role` is, for example, "stereotype"."""

    candidate: str
    role: str
    score: float


class Trial(NamedTuple):
    """The questions about one candidate or item, and the function that turns their answers into scores.

    `sides` may name, for each question, the sentence that the question is about. A run needs these names to store the
    log-probability of each token.
    """

    item: Item
    questions: tuple[Question, ...]
    score: Callable[[Sequence[Answer]], list[Score]]
    sides: tuple[str, ...] = ()


class SkippedItem(NamedTuple):
    """An item that the protocol cannot score."""

    item: str
    reason: str


@dataclass(slots=True)
class PartTrials:
    """The trials of one part of a benchmark in one language for one model.

    `kind` is the kind of model or head that answers the questions. `too_long` maps item ids to numbers of tokens, for
    items whose questions are not built because they would need too much memory.
    """

    kind: Kind
    protocol: str
    trials: list[Trial] = field(default_factory=list)
    skipped: list[SkippedItem] = field(default_factory=list)
    too_long: dict[str, int] = field(default_factory=dict)


def _return_no_parts(_kind: Kind) -> tuple[str, ...]:
    return ()


def _forbid_splitting(_items: Sequence[Any]) -> bool:
    return False


def allow_splitting(_items: Sequence[Any]) -> bool:
    """Return True; a benchmark uses this function as `item_by_item` if any items can be asked separately."""
    return True


@dataclass(frozen=True, slots=True)
class MessageSet:
    """The messages to chat models about all items of a portion, for forms whose items share messages.

    - `build(items, language, design, samples)` returns the messages; a message occurs once for each of its items.
    - `parse(prompt, reply, language)` returns the option that a reply chooses for the item of the message.
    - `score(answered)` yields additional scores, as (item, role, score), from the messages with their answers.
    - `count_tokens(items)` returns the maximum length of a reply in tokens, unless the user sets another one.
    - `protocol` names what the model does, if it does not choose between options.
    - `has_options` is false if replies are free texts, of which only `score` makes scores.
    """

    build: Callable[[Sequence[Any], str, OptionOrderDesign, int], list[Prompt]]
    parse: Callable[[Prompt, str, str], ParsedReply]
    score: Callable[[Sequence[tuple[Prompt, ItemAnswer]]], Iterable[tuple[str, str, float]]]
    count_tokens: Callable[[Sequence[Any]], int]
    protocol: str = ""
    has_options: bool = True


@dataclass(frozen=True, slots=True)
class Benchmark:
    """How items of one form become questions, and which measures apply to their scores.

    - `protocols` maps the names of protocols to short descriptions; the first is the default.
    - `ask(part, items, text, protocol=…)` returns the trials (questions and their scorers); `text` is the tokenizer.
    - `parts(kind)` returns the parts, such as GEST's templates, in which a model of this kind is asked about each item.
      It returns no parts if the data set itself is divided into parts, or if the benchmark has no parts.
    - `perturbations` maps names to changes of an item that should not change the results.
    - `choice(item)` returns the item as a choice between options; without it, chat models cannot be asked.
    - `messages` replaces the messages about single items, if several items share a message or the reply is a text.
    - `continuations` are the texts that a base model continues instead; without them, base models are not asked.
    - `choice_measures` is the name of the module that measures the choices of chat models.
    - `item_by_item(items)` returns whether several calls of `ask`, each with some of the items, return the same trials
      as one call with all items. Several calls need less memory.
    """

    form: str
    protocols: Mapping[str, str]
    measures: str
    ask: Callable[..., PartTrials]
    parts: Callable[[Kind], tuple[str, ...]] = _return_no_parts
    perturbations: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    choice: Callable[[Any], Choice] | None = None
    messages: MessageSet | None = None
    continuations: MessageSet | None = None
    choice_measures: str = "choices"
    item_by_item: Callable[[Sequence[Any]], bool] = _forbid_splitting


def compute_log_mean(answers: Sequence[Answer]) -> float:
    """Return the mean of all log-probabilities, which is the logarithm of the geometric mean of the probabilities.

    >>> float(compute_log_mean([np.log([0.5, 0.125], dtype=np.float32)])) == float(np.log(np.float32(0.25)))
    True
    """
    return float(np.concatenate(answers).astype(np.float64).mean())
