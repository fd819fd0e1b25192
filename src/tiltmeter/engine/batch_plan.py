"""Planning of batches: each distinct input and each shared prefix is computed once, with little padding.

A plan depends only on the set of questions, not on their order or on the stored answers. Therefore a resumed run uses
the same batches as an uninterrupted run, and its answers are equal bit by bit.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_rows import Batch, Row, RowQuestion
from tiltmeter.engine.row_groups import group_similar_lengths, pack_lengths, split_evenly, split_in_order
from tiltmeter.questions import Ids, Kind, Question, WantedQuantity, count_common_prefix

# Change these constants only after a measurement: `perf.speed` on a CPU, `perf.answering` on a GPU.

# Maximum number of tokens in a prefix tree. A tree is one row of a batch, and the time for attention grows with the
# square of the row's length.
LARGEST_TREE = 192
# Minimum length of a shared prefix in tokens. A shorter prefix saves less time than the longer row costs.
SHORTEST_SHARED_PREFIX = 2
# A prefix tree may be wider than packed rows only if each input shares at least this share of its tokens with the input
# before it. Without such wide trees, long prefixes would be computed several times. But the batches of wide trees are
# small and have more padding: for GPT-2 on StereoSet intersentence (GPU settings), padding was 2.3% instead of 1.6%.
_SHARED_IN_WIDE_TREES = 0.5
# Batch size of an encoder-decoder as a multiple of `batch_tokens`. A larger batch has more sources and more targets of
# equal length, which the model groups into smaller batches. `_MOST_TOKENS` is the maximum batch size in tokens, so that
# a GPU does not wait for the next batch.
_ENCODER_BATCHES = 4
_MOST_TOKENS = 131_072
# Maximum number of source tokens for a packed row of the decoder, per token of the row's width. The number is limited,
# because every token of the row has cross-attention to all sources of the row.
_SOURCES_PER_TOKEN = 8


def plan_batches(questions: Iterable[Question], kind: Kind, batch_tokens: int, layout: BatchLayout) -> list[Batch]:
    """Return batches of at most `batch_tokens` tokens each, including padding, which together answer all questions.

    The batches of an encoder-decoder are several times as large; the model divides their sources and their targets into
    smaller batches.
    """
    causal = kind in ("causal", "seq2seq")
    rows = _build_unique_rows(questions, truncates=causal and layout.truncates, has_sources=kind == "seq2seq")
    if causal and layout.shares_prefixes:
        rows = list(_merge_into_trees(rows, layout.pack or LARGEST_TREE))
    # Rows are not packed if attention weights are requested, which can be measured only in rows with one input.
    if layout.pack and not any(
        read.question.want is WantedQuantity.LOG_PROB_AND_ATTENTION for row in rows for read in row.reads
    ):
        rows = _pack_rows(rows, layout.pack, causal=causal)
    return list(
        _build_source_batches(rows, batch_tokens) if kind == "seq2seq" else _build_batches(rows, batch_tokens, layout)
    )


def compute_padding_share(batches: Iterable[Batch], batch_tokens: int, layout: BatchLayout) -> float:
    """Return the share of padding in all tokens of a batch plan; pass the plan's `batch_tokens` and `layout`."""
    sent = useful = 0
    for batch in batches:
        # An encoder-decoder divides a batch into smaller batches of sources and of targets; their padding is counted.
        sides = [[len(row.ids) for row in batch]]
        if sources := {source for row in batch for source in row.sources}:
            lengths = [len(source) for source in sources]
            sides.append([sum(lengths[index] for index in indices) for indices in pack_lengths(lengths, layout.pack)])
        for lengths in sides:
            useful += sum(lengths)
            divided = layout.divide_into_batches(lengths, batch_tokens) if len(sides) > 1 else [range(len(batch))]
            sent += sum(len(indices) * max(lengths[index] for index in indices) for indices in divided)
    return 1 - useful / sent if sent else 0.0


def _build_unique_rows(questions: Iterable[Question], *, truncates: bool, has_sources: bool) -> list[Row]:
    """Return one row for each distinct input; with `truncates`, inputs end at the last position that is read."""
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
    """Merge rows with a common prefix (and the same source, if there is one) into trees of about `width` tokens."""
    tree: _PrefixTree | None = None
    # After sorting, rows with a long common prefix are neighbours.
    for row in sorted(rows, key=lambda row: (row.sources, row.ids)):
        if tree is not None and tree.can_add_row(row, width):
            tree.add_row(row)
            continue
        if tree is not None:
            yield tree.build_row()
        tree = _PrefixTree(row.sources)
        tree.add_row(row)
    if tree is not None:
        yield tree.build_row()


class _PrefixTree:
    """Builds one row from inputs with common prefixes (a prefix tree); inputs must be added in sorted order."""

    def __init__(self, sources: tuple[Ids, ...]) -> None:
        self._sources = sources
        self._ids: list[int] = []
        self._depths: list[int] = []
        self._ends: list[int] = []
        self._reads: list[RowQuestion] = []
        # The token ids of the input that was added last, and the indices of its tokens in the row.
        self._last: Ids = ()
        self._path: list[int] = []

    def can_add_row(self, row: Row, width: int) -> bool:
        """Return whether a row fits into the tree and shares enough tokens with the input that was added last."""
        shared = count_common_prefix(self._last, row.ids)
        tokens = len(self._ids) + len(row.ids) - shared
        fits = tokens <= width or (tokens <= LARGEST_TREE and shared >= _SHARED_IN_WIDE_TREES * len(row.ids))
        return fits and shared >= SHORTEST_SHARED_PREFIX and row.sources == self._sources

    def add_row(self, row: Row) -> None:
        shared = count_common_prefix(self._last, row.ids)
        start = len(self._ids)
        self._close_subtrees(shared)
        self._ids += row.ids[shared:]
        self._depths += range(shared, len(row.ids))
        self._ends += [0] * (len(row.ids) - shared)
        self._path += range(start, len(self._ids))
        self._last = row.ids
        indices = tuple(self._path)
        self._reads += [RowQuestion(question, indices) for question, _ in row.reads]

    def build_row(self) -> Row:
        """Return the finished row; its `depths` and `ends` are empty if it contains only one input."""
        if len(self._ids) == len(self._path):
            return Row(tuple(self._ids), self._sources, reads=self._reads)
        self._close_subtrees(0)
        return Row(
            tuple(self._ids), self._sources, depths=tuple(self._depths), ends=tuple(self._ends), reads=self._reads
        )

    def _close_subtrees(self, depth: int) -> None:
        """Set the end of the subtree of each token of the last input, for the tokens from this depth on."""
        for index in self._path[depth:]:
            self._ends[index] = len(self._ids)
        del self._path[depth:]


def _pack_rows(rows: Iterable[Row], width: int, *, causal: bool) -> list[Row]:
    """Concatenate rows into packed rows of up to `width` tokens."""
    ordered = sorted(rows, key=lambda row: (row.segments, row.sources, row.ids))
    together = pack_lengths([_compute_row_size(row) for row in ordered], width)
    return [
        _join_rows([ordered[index] for index in indices], causal) if len(indices) > 1 else ordered[indices[0]]
        for indices in together
    ]


def _compute_row_size(row: Row) -> int:
    """Return the number of tokens that a row needs in a packed row: its length, or more if its source is long."""
    if not row.sources:
        return len(row.ids)
    (source,) = row.sources  # there is one source, because all inputs of a tree have the same source
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
    ordered = sorted(rows, key=lambda row: (row.has_several_inputs, row.segments, row.ids))
    for indices in layout.divide_into_batches([len(row.ids) for row in ordered], batch_tokens):
        yield [ordered[index] for index in indices]


def _build_source_batches(rows: Sequence[Row], batch_tokens: int) -> Iterator[Batch]:
    """Yield batches for an encoder-decoder, of rows whose sources have similar lengths.

    Unpacked rows with the same source are in one batch, so that the source is encoded once. (A packed row has several
    sources, one of which may also be in a row of another batch.) The model later divides the sources and the rows of a
    batch by length into smaller batches.
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
        # Packed rows have similar lengths; the larger one of source and target determines their size.
        divided = split_evenly(list(map(max, lengths, tokens)), limit)
    # With short targets, cross-attention to the sources takes most of the time, so sources of similar length share a
    # batch.
    elif sum(lengths) > sum(tokens):
        divided = group_similar_lengths(lengths, limit)
    else:
        divided = split_in_order(lengths, limit)
    for indices in divided:
        yield [row for index in indices for row in clusters[index]]
