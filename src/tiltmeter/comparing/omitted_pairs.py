"""What a comparison of runs leaves out, and why."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tiltmeter.comparing.cells import build_cells
from tiltmeter.comparing.comparability import Across, find_incomparable_reason, list_differing_conditions
from tiltmeter.comparing.comparison import By, list_possible_pairs
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class OmittedPairs:
    """Pairs of cells that are not compared for one reason: that of the first pair, and how many pairs there are.

    `across` is what a comparison has to go across to compare them; it is empty if they are never compared.
    """

    reason: str
    across: tuple[Across, ...]
    pairs: int


def list_omitted_pairs(
    runs: Sequence[tuple[str, Result]], *, by: By | None = None, across: Sequence[Across] = ()
) -> list[OmittedPairs]:
    """The pairs that `compare` leaves out, with the reasons; pairs that differ in the same respects are one entry."""
    cells = [cell for name, result in runs for cell in build_cells(name, result)]
    found: dict[tuple[str, ...], OmittedPairs] = {}
    for pair in list_possible_pairs(cells, by):
        lacking = tuple(name for name in list_differing_conditions(*pair) if name not in across)
        if not lacking:
            continue
        reason, possible = find_incomparable_reason(*pair, across)
        first = found.setdefault(lacking, OmittedPairs(reason, possible, 0))
        found[lacking] = replace(first, pairs=first.pairs + 1)
    return list(found.values())
