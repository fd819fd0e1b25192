"""The pairs of results (cells) that a comparison of runs leaves out, with the reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tiltmeter.comparing.cells import build_all_cells
from tiltmeter.comparing.comparability import Across, find_incomparable_reason, list_differing_conditions
from tiltmeter.comparing.comparison import By, list_possible_pairs
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class OmittedPairs:
    """Pairs of results that are not compared, because they differ in the same conditions; `pairs` counts them.

    `reason` is the reason in words for the first pair. `across` are the values of the option `--across` that would
    allow the comparison; it is empty if no value allows it.
    """

    reason: str
    across: tuple[Across, ...]
    pairs: int


def list_omitted_pairs(
    runs: Sequence[tuple[str, Result]], *, by: By | None = None, across: Sequence[Across] = ()
) -> list[OmittedPairs]:
    """Return the pairs of results that `compare` leaves out, grouped by the conditions in which they differ."""
    cells = build_all_cells(runs)
    omitted: dict[tuple[str, ...], OmittedPairs] = {}
    for pair in list_possible_pairs(cells, by):
        lacking = tuple(name for name in list_differing_conditions(*pair) if name not in across)
        if not lacking:
            continue
        reason, possible = find_incomparable_reason(*pair, across)
        first = omitted.setdefault(lacking, OmittedPairs(reason, possible, 0))
        omitted[lacking] = replace(first, pairs=first.pairs + 1)
    return list(omitted.values())
