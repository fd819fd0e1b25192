"""Confirmation that a chat server holds the same model from the first reply of a run to the last.

Every reply names its model. Besides, randomly chosen messages of the run are asked first, and again after every window
of messages. At temperature 0 a server is not quite deterministic: a reply counts as changed if it is another one twice,
and the model as changed if more replies are than noise explains.
"""

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions
from tiltmeter.runs.chat_budget import Spending

# The number of messages between two confirmations, and of those that each of them asks again: one in 25.
WINDOW = 400
REPEATED_MESSAGES = 16
_FEWEST = 4
_SHARE = 0.04
# The share of replies that noise changes for two requests in a row, at most, and the largest change of a probability.
_NOISE = 0.05
_MOST_CHANGE = 0.1
# The probability with which noise alone may stop a run, at a confirmation.
_FALSE_ALARM = 0.001
# For these shares of changed replies, the manifest has the probability that a confirmation notices the change.
_CHANGED_SHARES = (0.3, 0.5, 0.7)


class ChatModelChanged(ModelError):  # noqa: N818 - a statement about the server
    """A chat server that holds another model than before."""


def count_repeated_messages(messages: int) -> int:
    """The number of messages that a confirmation asks again, of a run with so many; 0 where too few prove nothing.

    >>> count_repeated_messages(90), count_repeated_messages(120), count_repeated_messages(5000)
    (0, 5, 16)
    """
    wanted = math.ceil(_SHARE * min(messages, WINDOW))
    return wanted if wanted >= _FEWEST and messages >= _FEWEST / _SHARE else 0


def count_probe_requests(messages: int, sampling: SamplingOptions) -> int:
    """The requests that the confirmations of a run with so many messages add, if no reply changes."""
    first = 0 if _is_deterministic(sampling) else 1
    return count_repeated_messages(messages) * (math.ceil(messages / WINDOW) + first)


def _is_deterministic(sampling: SamplingOptions) -> bool:
    """Whether the run's own replies can be compared; otherwise messages are asked at temperature 0 besides."""
    return sampling.temperature == 0 or sampling.probabilities


def compute_tail_probability(asked: int, share: float, least: int) -> float:
    """The probability that at least so many of the messages asked have another reply."""
    return sum(math.comb(asked, n) * share**n * (1 - share) ** (asked - n) for n in range(least, asked + 1))


def compute_noise_limit(asked: int) -> int:
    """The largest number of changed replies that noise explains.

    >>> compute_noise_limit(16), compute_noise_limit(4)
    (4, 2)
    """
    return next(most for most in range(asked + 1) if compute_tail_probability(asked, _NOISE, most + 1) < _FALSE_ALARM)


def is_same_reply(one: Reply, other: Reply) -> bool:
    """Whether two replies are the same: the text, or the probabilities of its first token up to noise."""
    if one.refused != other.refused:
        return False
    if not (one.first_tokens or other.first_tokens):
        return one.text == other.text
    first, second = dict(one.first_tokens), dict(other.first_tokens)
    return all(
        abs(math.exp(first.get(token, -math.inf)) - math.exp(second.get(token, -math.inf))) <= _MOST_CHANGE
        for token in first.keys() | second.keys()
    )


class ChatConfirmation:
    """Confirms a chat model during a run; of a model that cannot change, nothing is asked again."""

    def __init__(
        self, model: ChatModel, sampling: SamplingOptions, spending: Spending, stored: Iterable[Reply] = ()
    ) -> None:
        self._model, self._spending = model, spending
        self.is_needed = bool(getattr(model, "can_change", False))
        self._own = _is_deterministic(sampling)
        self._sampling = sampling if self._own else replace(sampling, temperature=0.0)
        self._known: dict[ChatQuestion, Reply] = {}
        self._chosen: list[ChatQuestion] = []
        self._names = {reply.model for reply in stored} - {""}
        self._random = random.Random()  # not seeded: each run asks other messages again
        self._confirmed = self._requests = 0

    def windows(self, pending: Sequence[ChatQuestion]) -> Iterator[list[ChatQuestion]]:
        """The messages in groups of those between two confirmations; chosen ones come first."""
        if not self.is_needed:
            yield list(pending)
            return
        self._chosen = self._random.sample(pending, count_repeated_messages(len(pending)))
        if self._chosen and not self._own:
            self._ask_reference_messages()
        chosen = set(self._chosen)
        ordered = [*self._chosen, *(question for question in pending if question not in chosen)]
        for start in range(0, len(ordered), WINDOW):
            yield ordered[start : start + WINDOW]

    def check_name(self, reply: Reply) -> None:
        """A ChangedChat if the server calls its model by another name than before."""
        if reply.model and self._names and reply.model not in self._names:
            raise ChatModelChanged(
                f"{self._model.name} is {reply.model} now, and earlier replies are by "
                f"{', '.join(sorted(self._names))}: the server changed its model. The run stopped, and earlier replies "
                "are kept. Name the model by its dated name if the server has one; to ask the new model everything, "
                "set TILTMETER_CACHE to another folder."
            )
        if reply.model:
            self._names.add(reply.model)

    def confirm(self, replies: Mapping[bytes, Reply], discarded: int) -> None:
        """Ask the chosen messages again; a ChangedChat if more replies changed than noise explains.

        `replies` are those of the run, `discarded` is the number of them since the last confirmation.
        """
        if self._own:
            found = ((question, replies.get(question.digest)) for question in self._chosen)
            self._known = {question: reply for question, reply in found if reply is not None}
        self.compare(self._known, discarded)
        self._confirmed += bool(self._known)

    def compare(self, known: Mapping[ChatQuestion, Reply], discarded: int) -> None:
        """Ask messages again; a ChangedChat if more replies changed than noise explains."""
        changed = self._changed(known)
        if len(changed) <= (most := compute_noise_limit(len(known))):
            return
        raise ChatModelChanged(
            f"{self._model.name} no longer replies as before: {len(changed)} of {len(known)} messages that it was "
            f"asked again have another reply (at most {most} by noise), so the server changed its model or settings. "
            f"The run stopped. {discarded:,} replies since the last confirmation were discarded, and earlier ones are "
            "kept; serve the first model and run the same command again to continue with it."
        )

    def sample(self, known: Mapping[ChatQuestion, Reply]) -> dict[ChatQuestion, Reply]:
        """At most as many of the replies as one confirmation asks again."""
        return {
            question: known[question]
            for question in self._random.sample(list(known), min(REPEATED_MESSAGES, len(known)))
        }

    def describe(self) -> dict[str, Any]:
        """What the manifest says of the confirmations."""
        asked = len(self._known)
        least = compute_noise_limit(asked) + 1
        noticed = {f"{share:.0%}": round(compute_tail_probability(asked, share, least), 3) for share in _CHANGED_SHARES}
        counts = {"confirmations": self._confirmed, "every": WINDOW, "items": asked, "asked_again": self._requests}
        return {**counts, "noticed": noticed} if self._confirmed else counts

    def _ask_reference_messages(self) -> None:
        """Ask the chosen messages at temperature 0; those that the server does not reply to are not asked again."""
        try:
            self._known = {question: reply for question, reply in self._replies(self._chosen) if not reply.too_long}
        except ChatModelChanged:
            raise
        except ModelError:  # a server that takes no temperature of 0
            self._known = {}

    def _changed(self, known: Mapping[ChatQuestion, Reply]) -> list[ChatQuestion]:
        """The messages with another reply than before, twice the same one."""
        second = {
            question: reply
            for question, reply in self._replies(list(known))
            if not reply.too_long and not is_same_reply(reply, known[question])
        }
        third = self._replies(list(second))
        return [question for question, reply in third if is_same_reply(reply, second[question])]

    def _replies(self, questions: Sequence[ChatQuestion]) -> Iterator[tuple[ChatQuestion, Reply]]:
        for index, reply in self._model.stream_replies(questions, self._sampling):
            self._requests += 1
            self.check_name(reply)
            self._spending.add(reply, self._model, questions[index].prompt)
            yield questions[index], reply
