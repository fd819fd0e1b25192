"""Random sentences of other articles."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# Matches that are kept back for exchanges at the end.
_KEPT_BACK = 1000


class StoredSentence(NamedTuple):
    """A sentence, by numbers: its article, itself, and a random number."""

    article: int
    id: int
    key: int


def match_sentences(
    firsts: Iterable[StoredSentence], seconds: Iterable[StoredSentence]
) -> Iterator[tuple[StoredSentence, StoredSentence]]:
    """Match first with second sentences of other articles, each once; both have to come in random order.

    Every sentence is therefore as often in a pair with its neighbour as in one with a stranger, and neither sentence
    alone tells which it is. A match within an article exchanges its second sentence with a later match, or at the end
    with one of the last. What cannot be exchanged, because one article has more than half of all, is left out.

    >>> one, two = StoredSentence(1, 10, 0), StoredSentence(2, 20, 0)
    >>> [(first.id, second.id) for first, second in match_sentences([one, two], [one, two])]
    [(10, 20), (20, 10)]
    """
    waiting: deque[tuple[StoredSentence, StoredSentence]] = deque()
    recent: deque[tuple[StoredSentence, StoredSentence]] = deque()
    for pair in zip(firsts, seconds, strict=True):
        if waiting and _can_exchange(waiting[0], pair):
            recent.extend(_exchange_seconds(waiting.popleft(), pair))
        elif pair[0].article == pair[1].article:
            waiting.append(pair)
        else:
            recent.append(pair)
        while len(recent) > _KEPT_BACK:
            yield recent.popleft()
    for pair in waiting:
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
