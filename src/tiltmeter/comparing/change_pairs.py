"""Pairs of results of a model before and after a change, by benchmark, part, language and protocol."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiltmeter.comparing.cells import Cell, shorten_names
from tiltmeter.comparing.comparability import Across, explain_incomparable, list_differing_conditions
from tiltmeter.errors import UsageError
from tiltmeter.measures.records import OVERALL, get_base_protocol


@dataclass(frozen=True, slots=True)
class CellPair:
    """The scores of a model on one part of a benchmark in one language (a cell), before and after the change."""

    before: Cell
    after: Cell


@dataclass(frozen=True, slots=True)
class MatchedResults:
    """The results before and after a change on one benchmark, in one language, by one protocol.

    `parts` are the single parts, and `pooled` is the pair over all parts, if the measures pool them.
    """

    parts: tuple[CellPair, ...]
    pooled: CellPair | None

    @property
    def pairs(self) -> tuple[CellPair, ...]:
        """The pairs of the single parts, and the pooled pair if there is one."""
        return (*self.parts, self.pooled) if self.pooled else self.parts

    @property
    def first(self) -> CellPair:
        """The pooled pair, or the pair of the first part."""
        return self.pooled or self.parts[0]


def pair_cells(
    before: Sequence[Cell], after: Sequence[Cell], across: Sequence[Across]
) -> tuple[list[MatchedResults], list[str]]:
    """Return the results that exist before and after the change, and notes on the results without a counterpart."""
    cells_before, cells_after = _index_cells(before, "before"), _index_cells(after, "after")
    shared = [key for key in cells_before if key in cells_after]
    if not shared:
        listed = [shorten_names(list(dict.fromkeys(c.location for c in cells)), 6) for cells in (before, after)]
        raise UsageError(
            "The runs before and after the change have no result in common: before, there are "
            f"{listed[0] or 'none'}; after, {listed[1] or 'none'}. Measure both models on the same data by the same "
            "protocol."
        )
    pairs = [(key, CellPair(cells_before[key], cells_after[key])) for key in shared]
    allowed = [(key, pair) for key, pair in pairs if not _list_obstacles(pair, across)]
    if not allowed:
        raise UsageError(explain_incomparable(pairs[0][1].before, pairs[0][1].after, across))
    by_part: dict[tuple[str, ...], dict[str, CellPair]] = {}
    for (benchmark, part, language, protocol), pair in allowed:
        by_part.setdefault((benchmark, language, protocol), {})[part] = pair
    matches = [
        MatchedResults(tuple(pair for part, pair in parts.items() if part != OVERALL), parts.get(OVERALL))
        for parts in by_part.values()
    ]
    return matches, list(_describe_unpaired(before, after, pairs, across))


def _index_cells(cells: Sequence[Cell], side: str) -> dict[tuple[str, ...], Cell]:
    """Return a mapping from (benchmark, part, language, protocol) to the cell; a key with two cells is an error."""
    indexed: dict[tuple[str, ...], Cell] = {}
    for cell in cells:
        other = indexed.setdefault(_get_key(cell), cell)
        if other is cell:
            continue
        if other.model != cell.model:
            raise UsageError(
                f"The runs {side} the change have two models on {cell.location}, {other.model} and {cell.model}; give "
                f"runs of one model with --{side}."
            )
        raise UsageError(
            f"{cell} was measured twice, in {other.run} and in {cell.run}; give only one of the two runs with --{side}."
        )
    return indexed


def _get_key(cell: Cell) -> tuple[str, ...]:
    # The protocols "published" and "published/d" can be pooled with each other; the pooled protocol names both.
    return cell.benchmark, cell.part, cell.language, get_base_protocol(cell.protocol.split(" + ")[0])


def _list_obstacles(pair: CellPair, across: Sequence[Across]) -> set[str]:
    return set(list_differing_conditions(pair.after, pair.before)) - set(across)


def _describe_unpaired(
    before: Sequence[Cell],
    after: Sequence[Cell],
    pairs: Sequence[tuple[tuple[str, ...], CellPair]],
    across: Sequence[Across],
) -> Iterator[str]:
    shared = {key for key, _ in pairs}
    for side, cells in (("before", before), ("after", after)):
        alone = list(dict.fromkeys(cell.location for cell in cells if _get_key(cell) not in shared))
        if alone:
            yield f"Only the runs {side} the change have {shorten_names(alone)}; these results are not compared."
    if refused := [pair for _, pair in pairs if _list_obstacles(pair, across)]:
        yield (
            f"Not compared: {len(refused)} of {len(pairs)} results. "
            f"{explain_incomparable(refused[0].before, refused[0].after, across)}"
        )
