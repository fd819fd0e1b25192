"""A value and its interval on a line, as numbers for a drawing in a page."""

from dataclasses import dataclass

from tiltmeter.measures import measure_named
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict import Side

WIDTH = 200


@dataclass(frozen=True, slots=True)
class Ruler:
    """Where things are on a line that is `WIDTH` long and has the ideal in its middle."""

    low: float
    high: float
    value: float
    side: Side


def ruler(record: Record, scale: tuple[float, float], side: Side) -> Ruler:
    """The record on a scale; what is beyond the ends is cut."""
    measure = measure_named(record.measure)
    start, end = (measure.position(at) for at in scale)

    def place(number: float) -> float:
        return round(min(max((measure.position(number) - start) / (end - start), 0.0), 1.0) * WIDTH, 1)

    low = record.value if record.low is None else record.low
    high = record.value if record.high is None else record.high
    return Ruler(place(low), place(high), place(record.value), side)
