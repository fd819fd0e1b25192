"""From questions to batches: every input once, shared prefixes once, next to no padding.

A plan depends on the questions alone: not on their order, nor on which of them are answered already. So a run that
was killed and goes on sends the same batches it would have sent, and gets the same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tiltmeter.questions import Kind, Question, Want

# A tree is one long row, and attention pays for its square. Past this size a shared prefix no longer pays.
LARGEST_TREE = 192
# A shared prefix shorter than this saves less than the longer row costs.
SHORTEST_SHARED_PREFIX = 2


@dataclass(frozen=True, slots=True)
class Ask:
    """One number that is wanted of a row, and where it goes: pair `pair` of the question with digest `question`."""

    position: int
    token: int
    want: Want
    question: bytes
    pair: int


@dataclass(frozen=True, slots=True)
class Branch:
    """Tokens `start` to `end` of a row continue, in order, from the tokens listed in `path`."""

    start: int
    end: int
    path: tuple[int, ...]


@dataclass(slots=True)
class Row:
    """One input, and all that is asked of it.

    With more than one branch the row is a tree: several causal inputs whose common prefix stands in it once.
    """

    ids: tuple[int, ...]
    source: tuple[int, ...] = ()
    segments: tuple[int, ...] = ()
    branches: tuple[Branch, ...] = ()
    asks: list[Ask] = field(default_factory=list)

    @property
    def is_tree(self) -> bool:
        """Whether several inputs share this row."""
        return len(self.branches) > 1

    @property
    def tokens(self) -> int:
        """How many tokens the row sends through the model."""
        return len(self.ids) + len(self.source)

    @property
    def questions(self) -> set[bytes]:
        """The digests of the questions this row answers, wholly or in part."""
        return {ask.question for ask in self.asks}


Batch = list[Row]


def plan(questions: Iterable[Question], kind: Kind, batch_tokens: int, *, share_prefixes: bool = True) -> list[Batch]:
    """Batches of at most `batch_tokens` tokens each (padding counted) that answer all questions."""
    rows = _unique_rows(questions, trim=kind in ("causal", "seq2seq"))
    if kind == "causal" and share_prefixes:
        rows = list(_trees(rows))
    return list(_batches(rows, batch_tokens))


def padding_share(batches: Iterable[Batch]) -> float:
    """The share of all tokens sent that is padding."""
    sent = useful = 0
    for batch in batches:
        sent += len(batch) * padded_tokens(batch)
        useful += sum(row.tokens for row in batch)
    return 1 - useful / sent if sent else 0.0


def padded_tokens(batch: Batch) -> int:
    """How many tokens each row of a batch costs."""
    return max(len(row.ids) for row in batch) + max(len(row.source) for row in batch)


def _unique_rows(questions: Iterable[Question], *, trim: bool) -> list[Row]:
    """One row per distinct input; with `trim`, tokens after the last position that is read are left out."""
    rows: dict[tuple[tuple[int, ...], ...], Row] = {}
    for question in sorted({q.digest: q for q in questions}.values(), key=lambda q: q.digest):
        ids = question.ids[: 1 + max(position for position, _ in question.wanted)] if trim else question.ids
        key = (ids, question.source, question.segments)
        row = rows.get(key)
        if row is None:
            row = rows[key] = Row(ids, question.source, question.segments)
        row.asks += [
            Ask(position, token, question.want, question.digest, pair)
            for pair, (position, token) in enumerate(question.wanted)
        ]
    return list(rows.values())


def _trees(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows with a common prefix joined into trees."""
    tree: _Tree | None = None
    # In the order of their ids, rows that share a long prefix are neighbours.
    for row in sorted(rows, key=lambda row: row.ids):
        if tree is not None and tree.takes(row.ids):
            tree.add(row)
            continue
        if tree is not None:
            yield tree.row()
        tree = _Tree()
        tree.add(row)
    if tree is not None:
        yield tree.row()


class _Tree:
    """Grows a tree row, one input at a time, in the order of their ids."""

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._branches: list[Branch] = []
        self._asks: list[Ask] = []
        self._last: tuple[int, ...] = ()  # the ids of the input added last
        self._path: list[int] = []  # where its tokens stand in the row

    def takes(self, ids: tuple[int, ...]) -> bool:
        """Whether another input shares enough with the last one to stand in the same row."""
        shared = _common_prefix(self._last, ids)
        return shared >= SHORTEST_SHARED_PREFIX and len(self._ids) + len(ids) - shared <= LARGEST_TREE

    def add(self, row: Row) -> None:
        shared = _common_prefix(self._last, row.ids)
        start = len(self._ids)
        self._ids += row.ids[shared:]
        self._path = self._path[:shared]
        if len(self._ids) > start:  # an input that is itself a prefix of the last one adds no token
            self._branches.append(Branch(start, len(self._ids), tuple(self._path)))
        self._path += range(start, len(self._ids))
        self._last = row.ids
        self._asks += [Ask(self._path[ask.position], ask.token, ask.want, ask.question, ask.pair) for ask in row.asks]

    def row(self) -> Row:
        return Row(tuple(self._ids), branches=tuple(self._branches), asks=self._asks)


def _common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length


def _batches(rows: Sequence[Row], batch_tokens: int) -> Iterator[Batch]:
    """Rows of about the same length together, the longest first so that memory is at its peak at once."""
    # Sources are encoded once a batch, so rows of one source stay together.
    ordered = sorted(rows, key=lambda row: (-len(row.source), row.source, -len(row.ids), row.is_tree, row.ids))
    batch: Batch = []
    for row in ordered:
        longest = padded_tokens([*batch, row]) if batch else row.tokens
        full = longest * (len(batch) + 1) > batch_tokens
        # A batch that is well filled ends where the length changes: then it needs no padding and no mask.
        wasteful = bool(batch) and row.tokens < longest and longest * len(batch) * 2 > batch_tokens
        if batch and (full or wasteful):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
