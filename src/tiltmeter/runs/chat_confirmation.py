"""Checks that a chat server does not change its model between the first and the last reply of a run.

The first check compares the model names in the replies. The second check repeats randomly chosen messages after every
window of 400 messages. Servers are not fully deterministic, even at temperature 0. Therefore a reply counts as changed
only if two repetitions agree with each other and differ from the first reply. The model counts as changed only if more
replies changed than noise explains.
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

# After every WINDOW messages, a check repeats REPEATED_MESSAGES of them (16 of 400, or one in 25).
WINDOW = 400
REPEATED_MESSAGES = 16
_FEWEST = 4
_SHARE = 0.04
# Noise (random differences between equal requests) changes a reply in two repetitions with at most the probability
# `_NOISE`, and changes the probability of a token by at most `_MOST_CHANGE`.
_NOISE = 0.05
_MOST_CHANGE = 0.1
# The maximum probability that noise alone stops a run at one check.
_FALSE_ALARM = 0.001
# For these shares of changed replies, the manifest reports the probability that a check detects the change.
_CHANGED_SHARES = (0.3, 0.5, 0.7)


class ChatModelChanged(ModelError):  # noqa: N818 - a statement about the server
    """A chat server changed its model during a run."""


def count_repeated_messages(messages: int) -> int:
    """Return how many messages of a run each check repeats; 0 if the run has too few messages for a check.

    >>> count_repeated_messages(90), count_repeated_messages(120), count_repeated_messages(5000)
    (0, 5, 16)
    """
    wanted = math.ceil(_SHARE * min(messages, WINDOW))
    return wanted if wanted >= _FEWEST and messages >= _FEWEST / _SHARE else 0


def count_probe_requests(messages: int, sampling: SamplingOptions) -> int:
    """Return how many requests the checks add to a run with `messages` messages, if no reply changes."""
    first = 0 if _is_deterministic(sampling) else 1
    return count_repeated_messages(messages) * (math.ceil(messages / WINDOW) + first)


def _is_deterministic(sampling: SamplingOptions) -> bool:
    """Return whether checks can repeat the run's own messages; if not, they need extra messages at temperature 0."""
    return sampling.temperature == 0 or sampling.probabilities


def compute_tail_probability(repeated: int, share: float, least: int) -> float:
    """Return the probability that at least `least` of `repeated` replies change, each with the probability `share`."""
    return sum(math.comb(repeated, n) * share**n * (1 - share) ** (repeated - n) for n in range(least, repeated + 1))


def compute_noise_limit(repeated: int) -> int:
    """Return how many of `repeated` repeated messages may have another reply because of noise alone.

    >>> compute_noise_limit(16), compute_noise_limit(4)
    (4, 2)
    """
    return next(
        most for most in range(repeated + 1) if compute_tail_probability(repeated, _NOISE, most + 1) < _FALSE_ALARM
    )


def is_same_reply(one: Reply, other: Reply) -> bool:
    """Return whether two replies have the same text, or the same first-token probabilities up to noise."""
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
    """Checks during a run that a chat model does not change; only models with `can_change` are checked."""

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
        self._random = random.Random()  # without a seed, so that each run repeats different messages
        self._confirmed = self._requests = 0

    def split_into_windows(self, pending: Sequence[ChatQuestion]) -> Iterator[list[ChatQuestion]]:
        """Yield windows of pending messages, first those that the checks repeat; a check follows each window."""
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
        """Raise ChatModelChanged if the model name in this reply differs from the name in earlier replies."""
        if reply.model and self._names and reply.model not in self._names:
            raise ChatModelChanged(
                f"The server of {self._model.name} changed its model: replies now come from {reply.model}, earlier "
                f"ones came from {', '.join(sorted(self._names))}. The run stopped, and earlier replies are stored. "
                "Use the dated name of the model if the server has one; to start again with the new model, set "
                "TILTMETER_CACHE to another folder."
            )
        if reply.model:
            self._names.add(reply.model)

    def confirm_replies(self, replies: Mapping[bytes, Reply], discarded: int) -> None:
        """Repeat the messages chosen for checks; raise ChatModelChanged if more replies changed than noise explains.

        `replies` maps the digest of each question of the run to its reply. `discarded` is the number of replies since
        the last check, which the error message reports.
        """
        if self._own:
            pairs = ((question, replies.get(question.digest)) for question in self._chosen)
            self._known = {question: reply for question, reply in pairs if reply is not None}
        self.confirm_known_replies(self._known, discarded)
        self._confirmed += bool(self._known)

    def confirm_known_replies(self, known: Mapping[ChatQuestion, Reply], discarded: int) -> None:
        """Repeat messages with known replies; raise ChatModelChanged if more replies changed than noise explains."""
        changed = self._find_changed(known)
        if len(changed) <= (most := compute_noise_limit(len(known))):
            return
        raise ChatModelChanged(
            f"The server of {self._model.name} changed its model or settings: {len(changed)} of {len(known)} repeated "
            f"messages have another reply (noise explains at most {most}). The run stopped. {discarded:,} replies "
            "since the last check were discarded, and earlier ones are stored; restore the first model and run the "
            "same command again to continue."
        )

    def draw_sample(self, known: Mapping[ChatQuestion, Reply]) -> dict[ChatQuestion, Reply]:
        """Return a random sample of the known replies, with at most `REPEATED_MESSAGES` replies."""
        return {
            question: known[question]
            for question in self._random.sample(list(known), min(REPEATED_MESSAGES, len(known)))
        }

    def describe(self) -> dict[str, Any]:
        """Return the manifest's entries about the checks: counts, and the probabilities that a change is detected."""
        repeated = len(self._known)
        least = compute_noise_limit(repeated) + 1
        noticed = {
            f"{share:.0%}": round(compute_tail_probability(repeated, share, least), 3) for share in _CHANGED_SHARES
        }
        counts = {"confirmations": self._confirmed, "every": WINDOW, "items": repeated, "asked_again": self._requests}
        return {**counts, "noticed": noticed} if self._confirmed else counts

    def _ask_reference_messages(self) -> None:
        """Send the messages that the checks will repeat, at temperature 0, and keep the replies for comparison."""
        try:
            self._known = {
                question: reply for question, reply in self._request_replies(self._chosen) if not reply.too_long
            }
        except ChatModelChanged:
            raise
        except ModelError:  # the server does not support temperature 0, so no reply can be compared
            self._known = {}

    def _find_changed(self, known: Mapping[ChatQuestion, Reply]) -> list[ChatQuestion]:
        """Return the messages whose two repetitions agree with each other and differ from the known reply."""
        second = {
            question: reply
            for question, reply in self._request_replies(list(known))
            if not reply.too_long and not is_same_reply(reply, known[question])
        }
        third = self._request_replies(list(second))
        return [question for question, reply in third if is_same_reply(reply, second[question])]

    def _request_replies(self, questions: Sequence[ChatQuestion]) -> Iterator[tuple[ChatQuestion, Reply]]:
        for index, reply in self._model.stream_replies(questions, self._sampling):
            self._requests += 1
            self.check_name(reply)
            self._spending.add_reply(reply, self._model, questions[index].prompt)
            yield questions[index], reply
