"""The self-test of a model on a server, which rejects a server with wrong log-probabilities before the first item.

Some servers ignore `echo`, shift log-probabilities by one position, or return different log-probabilities for the same
text. Such a server answers every item without an error, but the scores are at chance level. Each check needs a few
requests, and its error message names the cause.
"""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tiltmeter.errors import ModelError
from tiltmeter.models.text_plan import TokenEntry
from tiltmeter.questions import Answer, Ids, Question

if TYPE_CHECKING:
    from tiltmeter.models.endpoint import EndpointModel

# Eight English sentences, and one sentence in each of eight other languages. The log-probabilities of their tokens are
# part of the model's fingerprint.
PROBES = (
    "The train was late this morning, so we waited at the station and read the newspaper.",
    "She opened the window because the room had become too warm for everybody.",
    "If it rains tomorrow, we will stay at home and play a game of chess.",
    "The capital of France is Paris, and the capital of Italy is Rome.",
    "He put the bread on the table and asked whether anyone would like some butter.",
    "Most birds can fly, but penguins and ostriches cannot.",
    "Please close the door behind you when you leave the house.",
    "There are seven days in a week and twelve months in a year.",
    "Der Zug kam heute Morgen zu spät, deshalb haben wir am Bahnhof gewartet.",
    "Le train était en retard ce matin, alors nous avons attendu à la gare.",
    "El tren llegó tarde esta mañana, así que esperamos en la estación.",
    "Il treno era in ritardo questa mattina, quindi abbiamo aspettato alla stazione.",
    "O trem chegou tarde esta manhã, então esperamos na estação.",
    "Сегодня утром поезд опоздал, поэтому мы ждали на вокзале.",
    "Bu sabah tren geç kaldı, bu yüzden istasyonda bekledik.",
    "Pociąg spóźnił się dziś rano, więc czekaliśmy na stacji.",
)
_ENGLISH_PROBES = 8
# Minimum number of probes that must be more probable than the same words in another order. A server also passes if this
# is true for all English probes. A server with random log-probabilities passes with a probability of 1.5%.
_MIN_PLAUSIBLE = 13
# Maximum change of a log-probability between two requests for the same text. Smaller changes are reported as noise.
MAX_NOISE = 0.05
_REPEATED_PROBES = 4


class SelfTestResult(NamedTuple):
    """The probes (fixed sentences) with their answers, and the largest change of a log-probability when asked again."""

    probes: list[tuple[Question, Answer]]
    noise: float

    @property
    def values(self) -> list[float]:
        """The log-probabilities of all probes in one list."""
        return [value for _, answer in self.probes for value in answer.tolist()]


def run_self_test(model: "EndpointModel") -> SelfTestResult:
    """Send the probes and check the replies; raise a ModelError if the log-probabilities are wrong."""
    texts = [_encode_sentence(model, sentence) for sentence in PROBES]
    first = _ask_first_text(model, texts[0])
    values = _ask_values(model, texts)
    repeated = _measure_noise(
        model,
        [texts[0], *texts[:_REPEATED_PROBES]],
        [_list_log_probs(first), *values[:_REPEATED_PROBES]],
        "when sent again",
    )
    _check_positions(model, texts[0], first)
    longer = [(*texts[0], *texts[1][1:]), (*texts[1], *texts[0][1:])]
    extended = _measure_noise(model, longer, values[:2], "when followed by another text")
    _check_plausibility(model, values)
    probes = [
        (Question(text, tuple(enumerate(text[1:]))), np.array(answer))
        for text, answer in zip(texts, values, strict=True)
    ]
    return SelfTestResult(probes, max(repeated, extended))


def _ask_first_text(model: "EndpointModel", text: Ids) -> list[TokenEntry]:
    """Return the tokens in the reply to one text; after an error, try other variants of the request."""
    while True:
        try:
            return _ask_entries(model, [text])[0]
        except ModelError:
            if not model.dialect.relax_request():
                raise


def _check_positions(model: "EndpointModel", text: Ids, entries: Sequence[TokenEntry]) -> None:
    """Raise an error if the log-probabilities do not depend on the right tokens.

    Replacing the last token must change only the last log-probability. Replacing the first word must change later
    log-probabilities.
    """
    other = next(token for token in _encode_sentence(model, PROBES[1])[1:] if token != text[-1])
    before, changed = _list_log_probs(entries), _list_log_probs(_ask_entries(model, [(*text[:-1], other)])[0])
    moved = [abs(one - two) > MAX_NOISE for one, two in zip(before, changed, strict=True)]
    if any(moved[:-1]) or not moved[-1]:
        raise _build_error(
            model,
            "replacing the last token of a text changes "
            + ("earlier log-probabilities" if any(moved[:-1]) else "no log-probability")
            + "; the log-probabilities are off by one position, or belong to other tokens",
        )
    start = 1 if model.text.start is not None else 0
    context = (*text[:start], other, *text[start + 1 :])
    later = _list_log_probs(_ask_entries(model, [context])[0])[start + 1 :]
    if all(abs(one - two) <= 1e-6 for one, two in zip(before[start + 1 :], later, strict=True)):
        raise _build_error(
            model, "replacing the first word of a text changes no later log-probability; the server ignores the context"
        )
    if model.text.start is not None:
        bare = _list_log_probs(_ask_entries(model, [text[1:]])[0])
        if all(abs(one - two) <= 1e-6 for one, two in zip(before[1:], bare, strict=True)):
            raise _build_error(
                model,
                "a text has the same log-probabilities with and without the start token; the server drops the start "
                "token",
            )


def _measure_noise(
    model: "EndpointModel", texts: Sequence[Ids], earlier: Sequence[Sequence[float]], when: str
) -> float:
    """Send texts that begin with earlier texts; return the largest change of a log-probability in the earlier replies.

    `earlier` are the log-probabilities in the earlier replies. Raises a ModelError if the change is larger than
    `MAX_NOISE`. `when` describes the requests in the message.
    """
    change = max(
        abs(one - two)
        for now, before in zip(_ask_values(model, texts), earlier, strict=True)
        for one, two in zip(now[: len(before)], before, strict=True)
    )
    if change > MAX_NOISE:
        raise _build_error(
            model,
            f"the log-probabilities of a text changed by {change:.2f} {when}; turn off prefix caching or dynamic "
            "quantisation, or send fewer requests at once (--concurrency 1)",
        )
    return change


def _check_plausibility(model: "EndpointModel", values: Sequence[Sequence[float]]) -> None:
    """Raise an error unless most probes are more probable than the same words in another order."""
    shuffled = _ask_values(model, [_encode_sentence(model, _shuffle_words(sentence)) for sentence in PROBES])
    plausible = [sum(text) / len(text) > sum(mixed) / len(mixed) for text, mixed in zip(values, shuffled, strict=True)]
    if not all(plausible[:_ENGLISH_PROBES]) and sum(plausible) < _MIN_PLAUSIBLE:
        raise _build_error(
            model,
            f"only {sum(plausible)} of {len(PROBES)} sentences are more probable than their own words in another "
            "order; the log-probabilities do not belong to the text, or the tokenizer is wrong (--tokenizer)",
        )


def _shuffle_words(sentence: str) -> str:
    """Return the words of a sentence in another order; the result for a sentence is always the same.

    >>> _shuffle_words("one two three four")
    'four one two three'
    """
    words = sentence.split()
    mixed = words[:]
    generator = random.Random(sentence)
    while mixed == words:
        generator.shuffle(mixed)
    return " ".join(mixed)


def _encode_sentence(model: "EndpointModel", sentence: str) -> Ids:
    (encoded,) = model.text.encode([sentence])
    return encoded.ids if model.text.start is None else (model.text.start, *encoded.ids)


def _ask_entries(model: "EndpointModel", texts: Sequence[Ids]) -> list[list[TokenEntry]]:
    replies = dict(entry for together in model.request_token_entries(texts) for entry in together)
    return [replies[index] for index in range(len(texts))]


def _ask_values(model: "EndpointModel", texts: Sequence[Ids]) -> list[list[float]]:
    return [_list_log_probs(entries) for entries in _ask_entries(model, texts)]


def _list_log_probs(entries: Sequence[TokenEntry]) -> list[float]:
    """Return the log-probabilities of all tokens except the first; a probability of zero counts as -1e4."""
    return [-1e4 if entry.log_prob is None else entry.log_prob for entry in entries[1:]]


def _build_error(model: "EndpointModel", reason: str) -> ModelError:
    return ModelError(f"The server at {model.client.public_address} cannot be measured: {reason}.")
