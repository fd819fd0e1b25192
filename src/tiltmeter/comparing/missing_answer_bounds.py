"""How far missing answers could move a difference between two runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.measures.records import Record
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class MissingAnswerBounds:
    """How much lower and higher a number could be if all missing answers were known.

    The number is a value, or the difference between two values. `largest_change` is how much the distance of the value
    from its ideal could change, or the difference between both distances.
    """

    below: float
    above: float
    largest_change: float

    @classmethod
    def from_range(cls, value: float, lowest: float, highest: float) -> "MissingAnswerBounds":
        """Return the bounds of a value that could be from `lowest` to `highest`."""
        return cls(value - lowest, highest - value, max(value - lowest, highest - value))

    def subtract_bounds(self, other: "MissingAnswerBounds") -> "MissingAnswerBounds":
        """Return how much lower and higher the difference between this number and another number could be.

        The largest changes are added, because two values on opposite sides of their ideal can both move in the same
        direction, so that one distance becomes smaller and the other larger.

        >>> MissingAnswerBounds(1.0, 2.0, 2.0).subtract_bounds(MissingAnswerBounds(10.0, 20.0, 20.0))
        MissingAnswerBounds(below=21.0, above=12.0, largest_change=22.0)
        """
        return MissingAnswerBounds(
            self.below + other.above, self.above + other.below, self.largest_change + other.largest_change
        )


NO_MISSING_ANSWERS = MissingAnswerBounds(0.0, 0.0, 0.0)
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
            found[key] = MissingAnswerBounds.from_range(record.value, lowest, highest)
    return found


def _is_about(record: Record, where: Mapping[str, str]) -> bool:
    return record.view == "all" or dict(where) == {record.view: record.group}
