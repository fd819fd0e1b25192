"""How far missing answers could move a difference between two runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.measures.records import Record
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class MissingAnswerBounds:
    """How much lower and higher a number could be if all missing answers were known."""

    below: float = 0.0
    above: float = 0.0

    @property
    def largest_change(self) -> float:
        """The larger of `below` and `above`."""
        return max(self.below, self.above)

    def subtract_bounds(self, other: "MissingAnswerBounds") -> "MissingAnswerBounds":
        """Return how much lower and higher the difference between this number and another number could be.

        >>> MissingAnswerBounds(1.0, 2.0).subtract_bounds(MissingAnswerBounds(10.0, 20.0))
        MissingAnswerBounds(below=21.0, above=12.0)
        """
        return MissingAnswerBounds(self.below + other.above, self.above + other.below)


NO_MISSING_ANSWERS = MissingAnswerBounds()
BoundsByMeasure = Mapping[tuple[str, ...], MissingAnswerBounds]


def index_missing_answer_bounds(
    runs: Sequence[tuple[str, Result]], where: Mapping[str, str] | None = None
) -> BoundsByMeasure:
    """Return how far missing answers could move each value; the keys are the key of a cell and the name of a measure.

    If `where` selects one group of items, the values are those of this group if the run has them, otherwise those of
    all items.
    """
    found: dict[tuple[str, ...], MissingAnswerBounds] = {}
    for name, result in runs:
        for record in sorted(result.records, key=lambda record: record.view != "all"):
            lowest, highest = record.lowest_possible, record.highest_possible
            if lowest is None or highest is None or not _is_about(record, where or {}):
                continue
            key = (name, record.model, record.benchmark, record.part, record.language, record.protocol, record.measure)
            found[key] = MissingAnswerBounds(record.value - lowest, highest - record.value)
    return found


def _is_about(record: Record, where: Mapping[str, str]) -> bool:
    return record.view == "all" or dict(where) == {record.view: record.group}
