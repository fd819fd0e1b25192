"""Planning of batches: each distinct input once, shared prefixes once, little padding.

A plan depends only on the questions, not on their order or on which ones are already answered. Therefore a resumed run
uses the same batches as an uninterrupted run and gets the same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_rows import Batch, Row, RowQuestion
from tiltmeter.engine.row_groups import group_similar_lengths, pack_lengths, split_evenly, split_in_order
from tiltmeter.questions import Ids, Kind, Question, WantedQuantity, count_common_prefix

# Change these constants only with a measurement: `perf.speed` on a CPU, `perf.answering` on a GPU.

# Maximum tokens of a tree, since the cost of attention grows with the square of a row's length.
LARGEST_TREE = 192
# Minimum length of a shared prefix; a shorter prefix saves less than the longer row costs.
SHORTEST_SHARED_PREFIX = 2
# Minimum shared part of an input in a tree that is wider than packed rows. There are few such trees, and they make
# small batches. Without them, the padding of GPT-2 between sentences (GPU settings) was 1.6% instead of 2.3%, but long
# prefixes were computed several times.
_SHARED_IN_WIDE_TREES = 0.5
# Size of an encoder-decoder's batch, as a multiple of `batch_tokens`: a larger batch has more sources and targets of
# equal length, which the model batches separately. The maximum avoids that a GPU waits for the next batch.
_ENCODER_BATCHES = 4
_MOST_TOKENS = 131_072
# Maximum tokens of sources per token of a packed row's width, since cross-attention is over all sources of the row.
_SOURCES_PER_TOKEN = 8


def plan_batches(questions: Iterable[Question], kind: Kind, batch_tokens: int, layout: BatchLayout) -> list[Batch]:
    """Return batches of at most `batch_tokens` tokens each (with padding) that answer all questions.

    The batches of encoder-decoders are several times as large; the model divides them again, separately for encoder and
    decoder.
    """
    causal = kind in ("causal", "seq2seq")
    rows = _build_unique_rows(questions, truncates=causal and layout.truncates, has_sources=kind == "seq2seq")
    if causal and layout.shares_prefixes:
        rows = list(_merge_into_trees(rows, layout.pack or LARGEST_TREE))
    # Attention weights are measured only in rows with one input.
    if layout.pack and not any(
        read.question.want is WantedQuantity.LOG_PROB_AND_ATTENTION for row in rows for read in row.reads
    ):
        rows = _pack_rows(rows, layout.pack, causal=causal)
    return list(
        _build_source_batches(rows, batch_tokens) if kind == "seq2seq" else _build_batches(rows, batch_tokens, layout)
    )


def compute_padding_share(batches: Iterable[Batch], batch_tokens: int, layout: BatchLayout) -> float:
    """Return the share of padding among all tokens; `batch_tokens` and `layout` are those of the plan."""
    sent = useful = 0
    for batch in batches:
        # An encoder-decoder divides a batch again, separately for sources and targets.
        sides = [[len(row.ids) for row in batch]]
        if sources := {source for row in batch for source in row.sources}:
            lengths = [len(source) for source in sources]
            sides.append([sum(lengths[index] for index in indices) for indices in pack_lengths(lengths, layout.pack)])
        for lengths in sides:
            useful += sum(lengths)
            divided = layout.divide(lengths, batch_tokens) if len(sides) > 1 else [range(len(batch))]
            sent += sum(len(indices) * max(lengths[index] for index in indices) for indices in divided)
    return 1 - useful / sent if sent else 0.0


def _build_unique_rows(questions: Iterable[Question], *, truncates: bool, has_sources: bool) -> list[Row]:
    """Return one row per distinct input; with `truncates`, inputs end at the last position that is read."""
    rows: dict[tuple[Ids, ...], tuple[Row, range]] = {}
    for question in {question.digest: question for question in questions}.values():
        ids = question.ids
        if truncates:
            ids = ids[: 1 + max(question.wanted)[0]]
        key = (ids, question.source, question.segments)
        if key not in rows:
            sources = (question.source,) if has_sources else ()
            rows[key] = Row(ids, sources, question.segments), range(len(ids))
        row, indices = rows[key]
        row.reads.append(RowQuestion(question, indices))
    for row, _ in rows.values():
        row.reads.sort(key=lambda read: read.question.digest)
    return [row for row, _ in rows.values()]


def _merge_into_trees(rows: Iterable[Row], width: int) -> Iterator[Row]:
    """Merge rows with a common prefix (and the same source, if any) into trees of up to about `width` tokens."""
    tree: _PrefixTree | None = None
    # Sorting makes rows with a long common prefix neighbours.
    for row in sorted(rows, key=lambda row: (row.sources, row.ids)):
        if tree is not None and tree.can_take(row, width):
            tree.add(row)
            continue
        if tree is not None:
            yield tree.row()
        tree = _PrefixTree(row.sources)
        tree.add(row)
    if tree is not None:
        yield tree.row()


class _PrefixTree:
    """Builds a row from a prefix tree; inputs are added in the order of their ids."""

    def __init__(self, sources: tuple[Ids, ...]) -> None:
        self._sources = sources
        self._ids: list[int] = []
        self._depths: list[int] = []
        self._ends: list[int] = []
        self._reads: list[RowQuestion] = []
        self._last: Ids = ()  # the ids of the input added last
        self._path: list[int] = []  # the indices of its tokens in the row

    def can_take(self, row: Row, width: int) -> bool:
        """Return whether another input shares enough with the last one to be added."""
        shared = count_common_prefix(self._last, row.ids)
        tokens = len(self._ids) + len(row.ids) - shared
        fits = tokens <= width or (tokens <= LARGEST_TREE and shared >= _SHARED_IN_WIDE_TREES * len(row.ids))
        return fits and shared >= SHORTEST_SHARED_PREFIX and row.sources == self._sources

    def add(self, row: Row) -> None:
        shared = count_common_prefix(self._last, row.ids)
        start = len(self._ids)
        self._close(shared)
        self._ids += row.ids[shared:]
        self._depths += range(shared, len(row.ids))
        self._ends += [0] * (len(row.ids) - shared)
        self._path += range(start, len(self._ids))
        self._last = row.ids
        indices = tuple(self._path)
        self._reads += [RowQuestion(question, indices) for question, _ in row.reads]

    def row(self) -> Row:
        """Return the complete row, without depths and ends if it has only one input."""
        if len(self._ids) == len(self._path):
            return Row(tuple(self._ids), self._sources, reads=self._reads)
        self._close(0)
        return Row(
            tuple(self._ids), self._sources, depths=tuple(self._depths), ends=tuple(self._ends), reads=self._reads
        )

    def _close(self, depth: int) -> None:
        """Set the end of the subtrees of the last input's tokens from this depth on."""
        for index in self._path[depth:]:
            self._ends[index] = len(self._ids)
        del self._path[depth:]


def _pack_rows(rows: Iterable[Row], width: int, *, causal: bool) -> list[Row]:
    """Pack rows into longer rows of up to `width` tokens."""
    ordered = sorted(rows, key=lambda row: (row.segments, row.sources, row.ids))
    together = pack_lengths([_compute_row_size(row) for row in ordered], width)
    return [
        _join_rows([ordered[index] for index in indices], causal) if len(indices) > 1 else ordered[indices[0]]
        for indices in together
    ]


def _compute_row_size(row: Row) -> int:
    """Return the tokens that a row takes in a packed row: its own, or the room for its source if that is larger."""
    if not row.sources:
        return len(row.ids)
    (source,) = row.sources  # all inputs of a tree have the same one
    return max(len(row.ids), -(-len(source) // _SOURCES_PER_TOKEN))


def _join_rows(rows: Sequence[Row], causal: bool) -> Row:
    start = 0
    depths: list[int] = []
    ends: list[int] = []
    reads: list[RowQuestion] = []
    for row in rows:
        end = start + len(row.ids)
        if row.ends:
            reads += [RowQuestion(question, [start + index for index in indices]) for question, indices in row.reads]
        else:
            own = range(start, end)
            reads += [RowQuestion(question, own) for question, _ in row.reads]
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


def _build_batches(rows: Sequence[Row], batch_tokens: int, layout: BatchLayout) -> Iterator[Batch]:
    ordered = sorted(rows, key=lambda row: (row.has_several, row.segments, row.ids))
    for indices in layout.divide([len(row.ids) for row in ordered], batch_tokens):
        yield [ordered[index] for index in indices]


def _build_source_batches(rows: Sequence[Row], batch_tokens: int) -> Iterator[Batch]:
    """Yield batches for an encoder-decoder: rows with sources of similar length, and all rows of a source in one batch.

    Thus each source is encoded only once, except that a source of packed rows may occur in two batches. The model
    divides the sources and the rows of a batch again by length.
    """
    by_sources: dict[tuple[Ids, ...], Batch] = {}
    for row in sorted(rows, key=lambda row: (-sum(map(len, row.sources)), row.sources, row.ids)):
        by_sources.setdefault(row.sources, []).append(row)
    lengths = [sum(map(len, sources)) for sources in by_sources]
    clusters = list(by_sources.values())
    tokens = [sum(len(row.ids) for row in cluster) for cluster in clusters]
    limit = min(batch_tokens * _ENCODER_BATCHES, _MOST_TOKENS)
    divided: Iterable[list[int]]
    if any(row.lengths for row in rows):
        # Packed rows have similar lengths; the larger side determines their size.
        divided = split_evenly(list(map(max, lengths, tokens)), limit)
    # Cross-attention to the sources costs more than short targets, so sources should have equal lengths.
    elif sum(lengths) > sum(tokens):
        divided = group_similar_lengths(lengths, limit)
    else:
        divided = split_in_order(lengths, limit)
    for indices in divided:
        yield [row for index in indices for row in clusters[index]]
