"""Group rows by length into batches, or inputs into packed rows; all results are lists of indices."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

# The fixed time of a batch, as a share of the time of a full batch. A higher value gives fewer batches, but
# more padding. With this value, padding is 0 to 3% of the tokens of StereoSet, CrowS-Pairs and GEST
# (docs/evidence/performance.md).
_BATCH_OVERHEAD = 1 / 32


def group_similar_lengths(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Divide rows into batches of at most `batch_tokens` tokens with padding; return the row indices of each batch.

    The longest rows come first, so that the first batch needs the most memory. Rows of different lengths share a batch
    only if the padding costs less than another batch.

    >>> group_similar_lengths([2, 5, 5, 2, 2], 10)
    [[1, 2], [0, 3, 4]]
    """
    batches: list[list[int]] = []
    by_length = _group_by_length(lengths)
    counts = sorted(((length, len(indices)) for length, indices in by_length.items()), reverse=True)
    for group in _choose_length_groups(counts, batch_tokens):
        indices = [index for length in group for index in by_length[length]]
        rows = max(1, batch_tokens // group[0])
        batches += [indices[start : start + rows] for start in range(0, len(indices), rows)]
    return batches


def group_equal_lengths(shapes: Sequence[tuple[int, ...]], batch_tokens: int) -> list[list[int]]:
    """Divide rows into batches without padding, and return the row indices of each batch.

    All rows of a batch have the same shape. A shape is a tuple of lengths, for example of target and source.

    >>> group_equal_lengths([(2,), (5,), (5,), (2,), (2,)], 5)
    [[1], [2], [0, 3], [4]]
    """
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for index, shape in enumerate(shapes):
        by_shape.setdefault(shape, []).append(index)
    batches: list[list[int]] = []
    for shape, indices in sorted(by_shape.items(), reverse=True):
        rows = max(1, batch_tokens // max(shape))
        batches += [indices[start : start + rows] for start in range(0, len(indices), rows)]
    return batches


def _choose_length_groups(counts: Sequence[tuple[int, int]], batch_tokens: int) -> list[list[int]]:
    """Return groups of lengths; rows whose lengths are in one group are padded to the same length.

    `counts` are pairs of a length and its number of rows; the longest comes first. The groups minimise the number of
    tokens with padding plus the overhead of batches. They are found by dynamic programming over the prefixes of
    `counts`.
    """
    overhead = int(batch_tokens * _BATCH_OVERHEAD)
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(counts) + 1):
        cheapest = (float("inf"), 0)
        rows = 0
        for start in range(end - 1, -1, -1):
            length, count = counts[start]
            rows += count
            batches = -(-rows // max(1, batch_tokens // length))
            cost = best[start][0] + rows * length + batches * overhead
            cheapest = min(cheapest, (cost, start))
        best.append(cheapest)
    groups: list[list[int]] = []
    end = len(counts)
    while end:
        start = best[end][1]
        groups.append([length for length, _ in counts[start:end]])
        end = start
    return groups[::-1]


def split_in_order(lengths: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Split rows, without changing their order, into lists of row indices with at most `limit` tokens each."""
    chunk: list[int] = []
    tokens = 0
    for index, length in enumerate(lengths):
        if chunk and tokens + length > limit:
            yield chunk
            chunk, tokens = [], 0
        chunk.append(index)
        tokens += length
    if chunk:
        yield chunk


def split_evenly(lengths: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Split rows, without changing their order, into lists of about equal size with at most `limit` tokens each.

    A single row must be much shorter than `limit`.

    >>> list(split_evenly([2, 2, 2, 2, 2], 8)), list(split_in_order([2, 2, 2, 2, 2], 8))
    ([[0, 1, 2], [3, 4]], [[0, 1, 2, 3], [4]])
    """
    total, longest = sum(lengths), max(lengths, default=0)
    chunks = -(-total // max(1, limit - longest))
    return split_in_order(lengths, total // max(1, chunks) + longest)


def pack_lengths(lengths: Sequence[int], width: int) -> list[list[int]]:
    """Pack inputs of these lengths into rows of up to `width` tokens; return the indices of the inputs of each row.

    With width 0, each input gets its own row. Best-fit decreasing: the longest inputs come first, and each input is put
    into the row with the least free space that is enough.

    >>> pack_lengths([2, 5, 3, 4], 7)
    [[1, 0], [3, 2]]
    """
    if not width:
        return [[index] for index in range(len(lengths))]
    rows: list[list[int]] = []
    by_room: dict[int, list[list[int]]] = {}
    rooms: list[int] = []  # the free spaces of the rows (the keys of `by_room`), in sorted order
    for length, indices in sorted(_group_by_length(lengths).items(), reverse=True):
        start = 0
        while start < len(indices):
            best = bisect_left(rooms, length)
            if best < len(rooms):
                room = rooms[best]
                row = by_room[room].pop()
                if not by_room[room]:
                    del by_room[room], rooms[best]
            else:
                room, row = max(width, length), []
                rows.append(row)
            # This row has the least free space that suffices for an input of this length. It gets as many of these
            # inputs as possible.
            end = min(len(indices), start + room // length)
            row += indices[start:end]
            left = room - (end - start) * length
            if left not in by_room:
                insort(rooms, left)
            by_room.setdefault(left, []).append(row)
            start = end
    return rows


def _group_by_length(lengths: Sequence[int]) -> dict[int, list[int]]:
    indices: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        indices.setdefault(length, []).append(index)
    return indices
