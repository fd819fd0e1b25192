"""The self-test of a served model: refuses, before the first item, a server whose numbers would be wrong.

Servers that ignore `echo`, shift values by one or change them between requests answer every item without an error, and
score at chance. Each check here is one request or a few, and each failure names its cause.
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

# Eight English sentences and one each in eight other languages; their values are also the model's fingerprint.
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
ENGLISH = 8
# The number of probes that must be more probable than their own words in another order, unless all English ones are. A
# server with random values passes in 1.5% of cases.
_REAL_OF_ALL = 13
# The largest change of a value between two requests; smaller ones are reported as noise.
MOST_NOISE = 0.05
_TWICE = 4


class SelfTestResult(NamedTuple):
    """The probes as questions with their answers, and the largest change of a value when asked again."""

    probes: list[tuple[Question, Answer]]
    noise: float

    @property
    def values(self) -> list[float]:
        """The values of all probes, concatenated."""
        return [value for _, answer in self.probes for value in answer.tolist()]


def run_self_test(model: "EndpointModel") -> SelfTestResult:
    """Ask the probes and check the replies; a ModelError says what is wrong with the server."""
    texts = [_encode_sentence(model, sentence) for sentence in PROBES]
    first = _ask_first(model, texts[0])
    values = _ask_values(model, texts)
    again = _measure_noise(
        model, [texts[0], *texts[:_TWICE]], [_list_log_probs(first), *values[:_TWICE]], "when asked again"
    )
    _check_positions(model, texts[0], first)
    longer = [(*texts[0], *texts[1][1:]), (*texts[1], *texts[0][1:])]
    followed = _measure_noise(model, longer, values[:2], "when followed by another text")
    _check_plausibility(model, values)
    probes = [(_build_question(text), np.array(found)) for text, found in zip(texts, values, strict=True)]
    return SelfTestResult(probes, max(again, followed))


def _build_question(text: Ids) -> Question:
    """The question for the log-probability of every token of a text after the first."""
    return Question(text, tuple(enumerate(text[1:])))


def _ask_first(model: "EndpointModel", text: Ids) -> list[TokenEntry]:
    """The reply to one text, after a refusal by the dialect's next-best request."""
    while True:
        try:
            return _ask_entries(model, [text])[0]
        except ModelError:
            if not model.dialect.relax_request():
                raise


def _check_positions(model: "EndpointModel", text: Ids, entries: Sequence[TokenEntry]) -> None:
    """Check that the last token affects only the last value, and the first word the values after it."""
    other = next(token for token in _encode_sentence(model, PROBES[1])[1:] if token != text[-1])
    before, changed = _list_log_probs(entries), _list_log_probs(_ask_entries(model, [(*text[:-1], other)])[0])
    moved = [abs(one - two) > MOST_NOISE for one, two in zip(before, changed, strict=True)]
    if any(moved[:-1]) or not moved[-1]:
        raise _build_error(
            model,
            "another last token of a text changes "
            + ("the values before it" if any(moved[:-1]) else "no value")
            + "; its log-probabilities are off by one, or not those of the tokens",
        )
    start = 1 if model.text.start is not None else 0
    context = (*text[:start], other, *text[start + 1 :])
    later = _list_log_probs(_ask_entries(model, [context])[0])[start + 1 :]
    if all(abs(one - two) <= 1e-6 for one, two in zip(before[start + 1 :], later, strict=True)):
        raise _build_error(model, "another first word changes no value after it; it does not read the text")
    if model.text.start is not None:
        bare = _list_log_probs(_ask_entries(model, [text[1:]])[0])
        if all(abs(one - two) <= 1e-6 for one, two in zip(before[1:], bare, strict=True)):
            raise _build_error(
                model, "a text has the same values with and without the token for its beginning; it drops that token"
            )


def _measure_noise(
    model: "EndpointModel", texts: Sequence[Ids], earlier: Sequence[Sequence[float]], when: str
) -> float:
    """The largest change of earlier values in texts with the same beginning; refused if it is too large."""
    moved = max(
        abs(one - two)
        for asked, before in zip(_ask_values(model, texts), earlier, strict=True)
        for one, two in zip(asked[: len(before)], before, strict=True)
    )
    if moved > MOST_NOISE:
        raise _build_error(
            model,
            f"the log-probabilities of a text changed by {moved:.2f} {when}; turn off prefix caching or dynamic "
            "quantisation, or send less at a time (--concurrency 1)",
        )
    return moved


def _check_plausibility(model: "EndpointModel", values: Sequence[Sequence[float]]) -> None:
    """Check that sentences are more probable than their own words in another order."""
    shuffled = _ask_values(model, [_encode_sentence(model, _shuffle_words(sentence)) for sentence in PROBES])
    real = [sum(text) / len(text) > sum(mixed) / len(mixed) for text, mixed in zip(values, shuffled, strict=True)]
    if not all(real[:ENGLISH]) and sum(real) < _REAL_OF_ALL:
        raise _build_error(
            model,
            f"only {sum(real)} of {len(PROBES)} sentences are more probable than their own words in another order; "
            "its values are not those of the text, or the tokenizer is not the model's",
        )


def _shuffle_words(sentence: str) -> str:
    """The words of a sentence in another order, always the same one.

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
    replies = dict(entry for together in model.entries(texts) for entry in together)
    return [replies[index] for index in range(len(texts))]


def _ask_values(model: "EndpointModel", texts: Sequence[Ids]) -> list[list[float]]:
    return [_list_log_probs(entries) for entries in _ask_entries(model, texts)]


def _list_log_probs(entries: Sequence[TokenEntry]) -> list[float]:
    """The values after the first token; what the server gives for a probability of zero counts as very improbable."""
    return [-1e4 if entry.log_prob is None else entry.log_prob for entry in entries[1:]]


def _build_error(model: "EndpointModel", reason: str) -> ModelError:
    return ModelError(f"The server at {model.client.public_address} cannot be measured: {reason}.")
