"""Which rows go together, by their lengths alone: into one batch, or into one longer row."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

# What it costs to begin a batch: so much of a full one.
_TO_START_A_BATCH = 1 / 32


def of_like_length(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """The rows with these lengths, by number, divided into batches of at most `batch_tokens` tokens each.

    The longest come first, so that memory is at its peak at once. Rows of different lengths share a batch only where
    padding them costs less than a batch more.

    >>> of_like_length([2, 5, 5, 2, 2], 10)
    [[1, 2], [0, 3, 4]]
    """
    batches: list[list[int]] = []
    by_length = _by_length(lengths)
    for group in _groups(
        sorted(((length, len(lines)) for length, lines in by_length.items()), reverse=True), batch_tokens
    ):
        lines = [line for length in group for line in by_length[length]]
        room = max(1, batch_tokens // max(1, group[0]))
        batches += [lines[start : start + room] for start in range(0, len(lines), room)]
    return batches


def _groups(counts: Sequence[tuple[int, int]], batch_tokens: int) -> list[list[int]]:
    """Which lengths are padded to the same one: the cheapest division of (length, rows) pairs, longest first.

    The cost of a group is its padding and the start of its batches; the best division up to each length is found from
    the best ones before it.
    """
    to_start = int(batch_tokens * _TO_START_A_BATCH)
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(counts) + 1):
        cheapest = (float("inf"), 0)
        rows = useful = 0
        for start in range(end - 1, -1, -1):
            length, number = counts[start]
            rows += number
            useful += length * number
            batches = -(-rows // max(1, batch_tokens // max(1, length)))
            cost = best[start][0] + rows * length - useful + batches * to_start
            cheapest = min(cheapest, (cost, start))
        best.append(cheapest)
    groups: list[list[int]] = []
    end = len(counts)
    while end:
        start = best[end][1]
        groups.append([length for length, _ in counts[start:end]])
        end = start
    return groups[::-1]


def in_order(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Lines one after the other, as many as have so many tokens together."""
    lines: list[int] = []
    tokens = 0
    for line, length in enumerate(lengths):
        if lines and tokens + length > most:
            yield lines
            lines, tokens = [], 0
        lines.append(line)
        tokens += length
    if lines:
        yield lines


def evenly(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Lines one after the other, in parts of about the same size, of at most so many tokens.

    No line is expected to have nearly as many itself.

    >>> list(evenly([2, 2, 2, 2, 2], 8)), list(in_order([2, 2, 2, 2, 2], 8))
    ([[0, 1, 2], [3, 4]], [[0, 1, 2, 3], [4]])
    """
    total, longest = sum(lengths), max(lengths, default=0)
    number = -(-total // max(1, most - longest))
    return in_order(lengths, total // max(1, number) + longest)


def packs(lengths: Sequence[int], width: int) -> list[list[int]]:
    """The inputs with these lengths, by number, put together up to so many tokens; each by itself if that is 0.

    The longest come first, and each goes where it leaves the least room.

    >>> packs([2, 5, 3, 4], 7)
    [[1, 0], [3, 2]]
    """
    if not width:
        return [[number] for number in range(len(lengths))]
    found: list[list[int]] = []
    by_room: dict[int, list[list[int]]] = {}
    rooms: list[int] = []  # the keys of `by_room`, in order
    for length, numbers in sorted(_by_length(lengths).items(), reverse=True):
        start = 0
        while start < len(numbers):
            place = bisect_left(rooms, length)
            if place < len(rooms):
                room = rooms[place]
                pack = by_room[room].pop()
                if not by_room[room]:
                    del by_room[room], rooms[place]
            else:
                room, pack = max(width, length), []
                found.append(pack)
            # Where one goes, others of this length go, too: there was no pack with less room that is enough.
            end = min(len(numbers), start + room // length)
            pack += numbers[start:end]
            left = room - (end - start) * length
            if left not in by_room:
                insort(rooms, left)
            by_room.setdefault(left, []).append(pack)
            start = end
    return found


def _by_length(lengths: Sequence[int]) -> dict[int, list[int]]:
    """The numbers of what has each length."""
    found: dict[int, list[int]] = {}
    for number, length in enumerate(lengths):
        found.setdefault(length, []).append(number)
    return found
