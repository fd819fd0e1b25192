"""What a comparison of runs leaves out, and why."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tiltmeter.comparing.cells import cells_of
from tiltmeter.comparing.comparability import Across, differing, refused
from tiltmeter.comparing.comparison import By, possible_pairs
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class NotCompared:
    """Pairs of cells that are not compared for one reason: that of the first pair, and how many pairs there are.

    `across` is what a comparison has to go across to compare them; it is empty if they are never compared.
    """

    reason: str
    across: tuple[Across, ...]
    pairs: int


def not_compared(
    runs: Sequence[tuple[str, Result]], *, by: By | None = None, across: Sequence[Across] = ()
) -> list[NotCompared]:
    """The pairs that `compare` leaves out, with the reasons; pairs that differ in the same respects are one entry."""
    cells = [cell for name, result in runs for cell in cells_of(name, result)]
    found: dict[tuple[str, ...], NotCompared] = {}
    for pair in possible_pairs(cells, by):
        lacking = tuple(name for name in differing(*pair) if name not in across)
        if not lacking:
            continue
        reason, possible = refused(*pair, across)
        first = found.setdefault(lacking, NotCompared(reason, possible, 0))
        found[lacking] = replace(first, pairs=first.pairs + 1)
    return list(found.values())
