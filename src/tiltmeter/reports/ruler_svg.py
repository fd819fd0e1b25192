"""Rulers in pages: a value and its interval as coordinates of an SVG drawing."""

from dataclasses import dataclass

from tiltmeter.measures import get_measure
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict import VerdictDirection

WIDTH = 200


@dataclass(frozen=True, slots=True)
class Ruler:
    """Coordinates from 0 to `WIDTH`: the ideal is in the middle, and stereotypical values are to its right."""

    low: float
    high: float
    value: float
    side: VerdictDirection


def build_ruler(record: Record, scale: tuple[float, float], side: VerdictDirection) -> Ruler:
    """Return the ruler of a record, cut at the ends of the scale."""
    measure = get_measure(record.measure)
    # If lower values are more stereotypical, the lower end of the scale is on the right.
    start, end = sorted(measure.distance(at) for at in scale)

    def coordinate(number: float) -> float:
        return round(min(max((measure.distance(number) - start) / (end - start), 0.0), 1.0) * WIDTH, 1)

    low, high = sorted(map(coordinate, record.interval or (record.value, record.value)))
    return Ruler(low, high, coordinate(record.value), side)
