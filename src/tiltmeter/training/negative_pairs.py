"""Negative pairs: random pairs of sentences from different articles."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# Number of recent pairs that are kept in memory, so that the last pairs can exchange sentences with them.
_BUFFER_SIZE = 1000


class StoredSentence(NamedTuple):
    """A sentence: the number of its article, its own number (`id`), and a random number (`key`)."""

    article: int
    id: int
    key: int


def match_sentences(
    firsts: Iterable[StoredSentence], seconds: Iterable[StoredSentence]
) -> Iterator[tuple[StoredSentence, StoredSentence]]:
    """Yield pairs of a first and a second sentence from different articles; each sentence is used once.

    `firsts` and `seconds` are in random order. Each sentence is in as many negative pairs as positive pairs, so a
    single sentence does not reveal the label. If both sentences of a pair are from one article, the pair exchanges its
    second sentence with a later pair, or at the end with a recent pair. A pair without a possible exchange is left out;
    this happens only if one article has more than half of all sentences.

    >>> one, two = StoredSentence(1, 10, 0), StoredSentence(2, 20, 0)
    >>> [(first.id, second.id) for first, second in match_sentences([one, two], [one, two])]
    [(10, 20), (20, 10)]
    """
    unresolved: deque[tuple[StoredSentence, StoredSentence]] = deque()
    recent: deque[tuple[StoredSentence, StoredSentence]] = deque()
    for pair in zip(firsts, seconds, strict=True):
        if unresolved and _can_exchange(unresolved[0], pair):
            recent.extend(_exchange_seconds(unresolved.popleft(), pair))
        elif pair[0].article == pair[1].article:
            unresolved.append(pair)
        else:
            recent.append(pair)
        while len(recent) > _BUFFER_SIZE:
            yield recent.popleft()
    for pair in unresolved:
        for index, other in enumerate(recent):
            if _can_exchange(pair, other):
                one, recent[index] = _exchange_seconds(pair, other)
                recent.append(one)
                break
    yield from recent


def _can_exchange(one: tuple[StoredSentence, StoredSentence], other: tuple[StoredSentence, StoredSentence]) -> bool:
    return one[0].article != other[1].article and other[0].article != one[1].article


def _exchange_seconds(
    one: tuple[StoredSentence, StoredSentence], other: tuple[StoredSentence, StoredSentence]
) -> tuple[tuple[StoredSentence, StoredSentence], tuple[StoredSentence, StoredSentence]]:
    return (one[0], other[1]), (other[0], one[1])
