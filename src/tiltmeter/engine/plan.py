"""From questions to batches: every input once, shared prefixes once, next to no padding.

A plan depends on the questions alone: not on their order, nor on which of them are answered already. So a run that
was killed and goes on sends the same batches it would have sent, and gets the same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tiltmeter.engine.lengths import evenly, in_order, of_like_length, packs
from tiltmeter.engine.rows import Batch, Read, Row
from tiltmeter.questions import Ids, Kind, Question, Want, common_prefix

# A tree is one long row, and attention pays for its square. Past this size a shared prefix no longer pays.
LARGEST_TREE = 192
# A shared prefix shorter than this saves less than the longer row costs.
SHORTEST_SHARED_PREFIX = 2
# A tree that is wider than rows of several inputs are is one of few, in a small batch of their own: it has to save this
# share of an input.
_SHARE_FOR_WIDE_TREES = 0.5
# What one batch of an encoder-decoder holds, in batches of its encoder: the more, the more sources and targets of one
# length there are. But no more tokens than this, so that the next batch is ready in time.
_ENCODER_BATCHES = 4
_MOST_TOKENS = 131_072
# How many tokens of its sources a row of several targets has for each token that it may have itself.
_SOURCES_PER_TOKEN = 8


def plan(
    questions: Iterable[Question], kind: Kind, batch_tokens: int, *, share_prefixes: bool = True, pack: int = 0
) -> list[Batch]:
    """Batches of at most `batch_tokens` tokens each (padding counted) that answer all questions.

    With `pack` short inputs fill up rows of that many tokens. For encoder-decoders a batch is what is encoded and
    decoded in steps of its size.
    """
    causal = kind in ("causal", "seq2seq")
    rows = _unique_rows(questions, kind)
    if causal and share_prefixes:
        rows = list(_trees(rows, pack or LARGEST_TREE))
    # Attention is measured on inputs that have a row of their own.
    if pack and not any(read.question.want is Want.LOG_PROB_AND_ATTENTION for row in rows for read in row.reads):
        rows = _packed(rows, pack, causal=causal)
    return list(_batches_with_sources(rows, batch_tokens) if kind == "seq2seq" else _batches(rows, batch_tokens))


def padding_share(batches: Iterable[Batch], batch_tokens: int, pack: int = 0) -> float:
    """The share of all tokens sent that is padding; `pack` is what the batches were planned with."""
    sent = useful = 0
    for batch in batches:
        # An encoder-decoder divides a batch further, on both of its sides.
        sides = [[len(row.ids) for row in batch]]
        if sources := {source for row in batch for source in row.sources}:
            lengths = [len(source) for source in sources]
            sides.append([sum(lengths[number] for number in numbers) for numbers in packs(lengths, pack)])
        for lengths in sides:
            useful += sum(lengths)
            divided = of_like_length(lengths, batch_tokens) if len(sides) > 1 else [range(len(batch))]
            sent += sum(len(lines) * max(lengths[line] for line in lines) for lines in divided)
    return 1 - useful / sent if sent else 0.0


def _unique_rows(questions: Iterable[Question], kind: Kind) -> list[Row]:
    """One row per distinct input; of causal ones and targets, what comes after the last position read is left out."""
    rows: dict[tuple[Ids, ...], tuple[Row, range]] = {}
    for question in {question.digest: question for question in questions}.values():
        ids = question.ids
        if kind in ("causal", "seq2seq"):
            ids = ids[: 1 + max(position for position, _ in question.wanted)]
        key = (ids, question.source, question.segments)
        if key not in rows:
            sources = (question.source,) if kind == "seq2seq" else ()
            rows[key] = Row(ids, sources, question.segments), range(len(ids))
        row, places = rows[key]
        row.reads.append(Read(question, places))
    for row, _ in rows.values():
        row.reads.sort(key=lambda read: read.question.digest)
    return [row for row, _ in rows.values()]


def _trees(rows: Iterable[Row], width: int) -> Iterator[Row]:
    """Rows with a common prefix, and a common source if they have one, joined into trees, if these are worth it."""
    tree: _Tree | None = None
    # In the order of their ids, rows that share a long prefix are neighbours.
    for row in sorted(rows, key=lambda row: (row.sources, row.ids)):
        if tree is not None and tree.takes(row, width):
            tree.add(row)
            continue
        if tree is not None:
            yield tree.row()
        tree = _Tree(row.sources)
        tree.add(row)
    if tree is not None:
        yield tree.row()


class _Tree:
    """Grows a tree row, one input at a time, in the order of their ids."""

    def __init__(self, sources: tuple[Ids, ...]) -> None:
        self._sources = sources
        self._ids: list[int] = []
        self._depths: list[int] = []
        self._ends: list[int] = []
        self._reads: list[Read] = []
        self._last: Ids = ()  # the ids of the input added last
        self._path: list[int] = []  # where its tokens stand in the row

    def takes(self, row: Row, width: int) -> bool:
        """Whether another input shares enough with the last one to stand in the same row."""
        shared = common_prefix(self._last, row.ids)
        tokens = len(self._ids) + len(row.ids) - shared
        fits = tokens <= width or (tokens <= LARGEST_TREE and shared >= _SHARE_FOR_WIDE_TREES * len(row.ids))
        return fits and shared >= SHORTEST_SHARED_PREFIX and row.sources == self._sources

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
            return Row(tuple(self._ids), self._sources, reads=self._reads)
        self._close(0)
        return Row(
            tuple(self._ids), self._sources, depths=tuple(self._depths), ends=tuple(self._ends), reads=self._reads
        )

    def _close(self, depth: int) -> None:
        """No token follows those of the last input from this depth on any more."""
        for place in self._path[depth:]:
            self._ends[place] = len(self._ids)
        del self._path[depth:]


def _packed(rows: Iterable[Row], width: int, *, causal: bool) -> list[Row]:
    """Rows of up to `width` tokens, of several inputs each."""
    ordered = sorted(rows, key=lambda row: (row.segments, row.sources, row.ids))
    together = packs([_size(row) for row in ordered], width)
    return [
        _joined([ordered[n] for n in numbers], causal) if len(numbers) > 1 else ordered[numbers[0]]
        for numbers in together
    ]


def _size(row: Row) -> int:
    """How much room a row takes in a longer one: that of its tokens or, where these are few, of its source."""
    if not row.sources:
        return len(row.ids)
    return max(len(row.ids), -(-sum(map(len, row.sources)) // _SOURCES_PER_TOKEN))


def _joined(rows: Sequence[Row], causal: bool) -> Row:
    """Several rows as one."""
    start = 0
    depths: list[int] = []
    ends: list[int] = []
    reads: list[Read] = []
    for row in rows:
        end = start + len(row.ids)
        if row.ends:
            reads += [Read(question, [start + place for place in places]) for question, places in row.reads]
        else:
            own = range(start, end)
            reads += [Read(question, own) for question, _ in row.reads]
        if causal:
            depths += row.depths or range(len(row.ids))
            ends += [start + own for own in row.ends] or [end] * len(row.ids)
        start = end
    segments: tuple[int, ...] = ()
    if any(row.segments for row in rows):
        segments = tuple(chain.from_iterable(row.segments or (0,) * len(row.ids) for row in rows))
    return Row(
        tuple(chain.from_iterable([row.ids for row in rows])),
        tuple(chain.from_iterable([row.sources for row in rows])),
        segments,
        tuple([len(row.ids) for row in rows]),
        tuple(depths),
        tuple(ends),
        reads,
    )


def _batches(rows: Sequence[Row], batch_tokens: int) -> Iterator[Batch]:
    """Rows of about the same length together."""
    ordered = sorted(rows, key=lambda row: (row.has_several, row.segments, row.ids))
    for lines in of_like_length([len(row.ids) for row in ordered], batch_tokens):
        yield [ordered[line] for line in lines]


def _batches_with_sources(rows: Sequence[Row], batch_tokens: int) -> Iterator[Batch]:
    """Rows whose sources are about as long together, those of the same ones in one batch, where they are encoded once.

    Where rows are of several sources, one of these may be in two batches; but its targets are mostly one tree. What is
    sent at once is smaller: the model divides the sources and the rows of a batch again, each by length.
    """
    by_sources: dict[tuple[Ids, ...], Batch] = {}
    for row in sorted(rows, key=lambda row: (-sum(map(len, row.sources)), row.sources, row.ids)):
        by_sources.setdefault(row.sources, []).append(row)
    lengths = [sum(map(len, sources)) for sources in by_sources]
    clusters = list(by_sources.values())
    tokens = [sum(len(row.ids) for row in cluster) for cluster in clusters]
    most = min(batch_tokens * _ENCODER_BATCHES, _MOST_TOKENS)
    divided: Iterable[list[int]]
    if any(row.lengths for row in rows):
        # Of rows that share several sources, the larger side counts.
        divided = evenly(list(map(max, lengths, tokens)), most)
    # Short rows cost less than what is computed of their sources when they are decoded: those are to be of like length.
    elif sum(lengths) > sum(tokens):
        divided = of_like_length(lengths, most)
    else:
        divided = in_order(lengths, most)
    for lines in divided:
        yield [row for line in lines for row in clusters[line]]
