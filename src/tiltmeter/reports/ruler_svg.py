"""Rulers for HTML pages: the coordinates of a value and its interval in an SVG drawing."""

from dataclasses import dataclass

from tiltmeter.measures import get_measure
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict import VerdictDirection

WIDTH = 200  # in units of the SVG drawing


@dataclass(frozen=True, slots=True)
class Ruler:
    """The horizontal coordinates of a value and its interval, from 0 to `WIDTH`.

    The ideal is in the middle; values on the stereotypical side are to the right of the ideal.
    """

    low: float
    high: float
    value: float
    side: VerdictDirection


def build_ruler(record: Record, scale: tuple[float, float], side: VerdictDirection) -> Ruler:
    """Return the ruler of a record; coordinates outside the scale are moved to its ends."""
    measure = get_measure(record.measure)
    # If lower values are more stereotypical, the lower end of the scale is on the right.
    start, end = sorted(measure.distance(at) for at in scale)

    def compute_x(number: float) -> float:
        return round(min(max((measure.distance(number) - start) / (end - start), 0.0), 1.0) * WIDTH, 1)

    low, high = sorted(map(compute_x, record.interval or (record.value, record.value)))
    return Ruler(low, high, compute_x(record.value), side)
