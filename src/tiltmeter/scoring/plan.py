"""From questions to batches: every input once, shared prefixes once, next to no padding.

A plan depends on the questions alone: not on their order, nor on which of them are answered already. So a run that
was killed and goes on sends the same batches it would have sent, and gets the same bytes.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.questions import Answer, Kind, Question, Want, common_prefix

# A tree is one long row, and attention pays for its square. Past this size a shared prefix no longer pays.
LARGEST_TREE = 192
# A shared prefix shorter than this saves less than the longer row costs.
SHORTEST_SHARED_PREFIX = 2
# What it costs to begin a batch, in tokens: a thirty-second of a full batch, but on no device more than this.
_MOST_TO_START_A_BATCH = 320
# The sources of an encoder-decoder that one batch holds, in batches of the encoder: the more, the more sources and
# targets of one length there are.
_ENCODER_BATCHES = 8


class Read(NamedTuple):
    """A question that a row answers, and where in the row the tokens of its input stand."""

    question: Question
    places: Sequence[int]


@dataclass(slots=True)
class Row:
    """What is sent as one line, and all that is read from it: one input, or several that are kept apart by a mask.

    Where there are several, `depths` tells the place of each token in its own input, and `ends` where what belongs to
    it ends. For a causal model these are the tokens that follow it in any input: inputs with a common prefix stand in
    the row as a tree, depth first, so a token is seen by itself and all up to its end. For a masked model it is the
    input itself: tokens with the same end see each other.
    """

    ids: tuple[int, ...]
    source: tuple[int, ...] = ()
    segments: tuple[int, ...] = ()
    depths: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    reads: list[Read] = field(default_factory=list)

    @property
    def has_several(self) -> bool:
        """Whether several inputs share this row."""
        return bool(self.ends)

    @property
    def questions(self) -> list[bytes]:
        """The digests of the questions that this row answers."""
        return [read.question.digest for read in self.reads]


Batch = list[Row]


@dataclass(frozen=True, slots=True)
class Asks:
    """All numbers that are wanted of a batch: in which of its lines, where, of which token, and what."""

    lines: NDArray[np.int64]
    positions: NDArray[np.int64]
    tokens: NDArray[np.int64]
    wants: NDArray[np.object_]

    @classmethod
    def of(cls, batch: Batch) -> "Asks":
        """What is asked of the rows, in their order."""
        reads = [read for row in batch for read in row.reads]
        numbers = [len(question.wanted) for question, _ in reads]
        lines = np.repeat(np.arange(len(batch)), [len(row.reads) for row in batch])
        positions = [places[position] for question, places in reads for position, _ in question.wanted]
        tokens = [token for question, _ in reads for _, token in question.wanted]
        wants = np.array([question.want for question, _ in reads], dtype=object)
        return cls(
            np.repeat(lines, numbers),
            np.array(positions, np.int64),
            np.array(tokens, np.int64),
            np.repeat(wants, numbers),
        )

    def among(self, lines: Sequence[int]) -> tuple[NDArray[np.int64], "Asks"]:
        """Those of some lines, by number, and as if these lines, in this order, were a batch."""
        new_lines = np.full(self.lines.max() + 1, -1)
        new_lines[list(lines)] = np.arange(len(lines))
        chosen = np.flatnonzero(new_lines[self.lines] >= 0)
        return chosen, Asks(
            new_lines[self.lines[chosen]], self.positions[chosen], self.tokens[chosen], self.wants[chosen]
        )

    def __len__(self) -> int:
        return len(self.tokens)


def plan(
    questions: Iterable[Question], kind: Kind, batch_tokens: int, *, share_prefixes: bool = True, pack: int = 0
) -> list[Batch]:
    """Batches of at most `batch_tokens` tokens each (padding counted) that answer all questions.

    With `pack` short inputs fill up rows of that many tokens. For encoder-decoders a batch is what is encoded and
    decoded in steps of its size.
    """
    rows = _unique_rows(questions, trim=kind in ("causal", "seq2seq"))
    if kind in ("causal", "seq2seq") and share_prefixes:
        rows = list(_trees(rows))
    if kind == "seq2seq":
        return list(_batches_by_source(rows, batch_tokens))
    # Attention is measured on inputs that have a row of their own.
    if pack and not any(read.question.want is Want.LOG_PROB_AND_ATTENTION for row in rows for read in row.reads):
        rows = _packed(rows, pack)
    return list(_batches(rows, batch_tokens))


def padding_share(batches: Iterable[Batch], batch_tokens: int) -> float:
    """The share of all tokens sent that is padding."""
    sent = useful = 0
    for batch in batches:
        # An encoder-decoder divides a batch further, on both of its sides.
        sides = [[len(row.ids) for row in batch]]
        if any(row.source for row in batch):
            sides.append([len(source) for source in {row.source for row in batch}])
        for lengths in sides:
            useful += sum(lengths)
            divided = of_like_length(lengths, batch_tokens) if len(sides) > 1 else [range(len(batch))]
            sent += sum(len(lines) * max(lengths[line] for line in lines) for lines in divided)
    return 1 - useful / sent if sent else 0.0


def by_question(batch: Batch, numbers: NDArray[np.float32]) -> dict[bytes, Answer]:
    """The numbers of a batch, in the order of its asks, as the answers to its questions."""
    found: dict[bytes, Answer] = {}
    first, second = (row.astype("<f4").tobytes() for row in numbers)
    start = 0
    for row in batch:
        for question, _ in row.reads:
            end = start + 4 * len(question.wanted)
            # A few bytes of its own, as the store keeps them: part of an array, it would keep all of that.
            own = first[start:end] if question.want.rows == 1 else first[start:end] + second[start:end]
            found[question.digest] = np.frombuffer(own, dtype="<f4")
            start = end
    return found


def of_like_length(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """The rows with these lengths, by number, divided into batches of at most `batch_tokens` tokens each.

    The longest come first, so that memory is at its peak at once. Rows of different lengths share a batch only where
    padding them costs less than a batch more.

    >>> of_like_length([2, 5, 5, 2, 2], 10)
    [[1, 2], [0, 3, 4]]
    """
    batches: list[list[int]] = []
    by_length: dict[int, list[int]] = {}
    for line, length in enumerate(lengths):
        by_length.setdefault(length, []).append(line)
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
    to_start = min(batch_tokens // 32, _MOST_TO_START_A_BATCH)
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


def _unique_rows(questions: Iterable[Question], *, trim: bool) -> list[Row]:
    """One row per distinct input; with `trim`, tokens after the last position that is read are left out."""
    rows: dict[tuple[tuple[int, ...], ...], tuple[Row, range]] = {}
    for question in {question.digest: question for question in questions}.values():
        ids = question.ids[: 1 + max(position for position, _ in question.wanted)] if trim else question.ids
        key = (ids, question.source, question.segments)
        if key not in rows:
            rows[key] = Row(*key), range(len(ids))
        row, places = rows[key]
        row.reads.append(Read(question, places))
    for row, _ in rows.values():
        row.reads.sort(key=lambda read: read.question.digest)
    return [row for row, _ in rows.values()]


def _trees(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows with a common prefix, and a common source if they have one, joined into trees."""
    tree: _Tree | None = None
    # In the order of their ids, rows that share a long prefix are neighbours.
    for row in sorted(rows, key=lambda row: (row.source, row.ids)):
        if tree is not None and tree.takes(row):
            tree.add(row)
            continue
        if tree is not None:
            yield tree.row()
        tree = _Tree(row.source)
        tree.add(row)
    if tree is not None:
        yield tree.row()


class _Tree:
    """Grows a tree row, one input at a time, in the order of their ids."""

    def __init__(self, source: tuple[int, ...]) -> None:
        self._source = source
        self._ids: list[int] = []
        self._depths: list[int] = []
        self._ends: list[int] = []
        self._reads: list[Read] = []
        self._last: tuple[int, ...] = ()  # the ids of the input added last
        self._path: list[int] = []  # where its tokens stand in the row

    def takes(self, row: Row) -> bool:
        """Whether another input shares enough with the last one to stand in the same row."""
        shared = common_prefix(self._last, row.ids)
        fits = len(self._ids) + len(row.ids) - shared <= LARGEST_TREE
        return fits and shared >= SHORTEST_SHARED_PREFIX and row.source == self._source

    def add(self, row: Row) -> None:
        shared = common_prefix(self._last, row.ids)
        start = len(self._ids)
        self._close(shared)
        self._ids += row.ids[shared:]
        self._depths += range(shared, len(row.ids))
        self._ends += [0] * (len(row.ids) - shared)
        self._path += range(start, len(self._ids))
        self._last = row.ids
        places = tuple(self._path)
        self._reads += [Read(question, places) for question, _ in row.reads]

    def row(self) -> Row:
        """The finished row; plain, if there is but one input in it."""
        if len(self._ids) == len(self._path):
            return Row(tuple(self._ids), self._source, reads=self._reads)
        self._close(0)
        return Row(
            tuple(self._ids), self._source, depths=tuple(self._depths), ends=tuple(self._ends), reads=self._reads
        )

    def _close(self, depth: int) -> None:
        """No token follows those of the last input from this depth on any more."""
        for place in self._path[depth:]:
            self._ends[place] = len(self._ids)
        del self._path[depth:]


def _packed(rows: Iterable[Row], width: int) -> list[Row]:
    """Rows of up to `width` tokens: each input, the longest first, goes where it leaves the least room."""
    packs: list[list[Row]] = []
    by_room: dict[int, list[list[Row]]] = {}
    rooms: list[int] = []  # the keys of `by_room`, in order
    for row in sorted(rows, key=lambda row: (-len(row.ids), row.segments, row.ids)):
        place = bisect_left(rooms, len(row.ids))
        if place < len(rooms):
            room = rooms[place]
            pack = by_room[room].pop()
            if not by_room[room]:
                del by_room[room], rooms[place]
        else:
            room, pack = max(width, len(row.ids)), []
            packs.append(pack)
        pack.append(row)
        left = room - len(row.ids)
        if left not in by_room:
            insort(rooms, left)
        by_room.setdefault(left, []).append(pack)
    return [_joined(pack) if len(pack) > 1 else pack[0] for pack in packs]


def _joined(rows: Sequence[Row]) -> Row:
    """Several rows as one."""
    depths: list[int] = []
    ends: list[int] = []
    reads: list[Read] = []
    for row in rows:
        start, length = len(depths), len(row.ids)
        if row.has_several:
            depths += row.depths
            ends += [start + end for end in row.ends]
            reads += [Read(question, [start + place for place in places]) for question, places in row.reads]
        else:
            places = range(start, start + length)
            depths += range(length)
            ends += [start + length] * length
            reads += [Read(question, places) for question, _ in row.reads]
    ids = tuple(chain.from_iterable(row.ids for row in rows))
    has_segments = any(row.segments for row in rows)
    segments = tuple(chain.from_iterable(row.segments or (0,) * len(row.ids) for row in rows)) if has_segments else ()
    return Row(ids, segments=segments, depths=tuple(depths), ends=tuple(ends), reads=reads)


def _batches(rows: Sequence[Row], batch_tokens: int) -> Iterator[Batch]:
    """Rows of about the same length together."""
    ordered = sorted(rows, key=lambda row: (row.has_several, row.segments, row.ids))
    for lines in of_like_length([len(row.ids) for row in ordered], batch_tokens):
        yield [ordered[line] for line in lines]


def _batches_by_source(rows: Sequence[Row], batch_tokens: int) -> Iterator[Batch]:
    """Sources of about the same length together, each with all of its rows, so that it is encoded once.

    What is sent at once is smaller: the model divides the sources and the rows of a batch again, each by length.
    """
    by_source: dict[tuple[int, ...], Batch] = {}
    for row in sorted(rows, key=lambda row: (-len(row.source), row.source, row.ids)):
        by_source.setdefault(row.source, []).append(row)
    lengths = [len(source) for source in by_source]
    clusters = list(by_source.values())
    # Short rows cost less than what is computed of their sources when they are decoded: those are to be of like length.
    divided: Iterable[list[int]]
    if sum(lengths) > sum(len(row.ids) for row in rows):
        divided = of_like_length(lengths, _ENCODER_BATCHES * batch_tokens)
    else:
        divided = _in_order(lengths, _ENCODER_BATCHES * batch_tokens)
    for lines in divided:
        yield [row for line in lines for row in clusters[line]]


def _in_order(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
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
