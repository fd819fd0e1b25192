"""Names beside the points of a chart, placed so that they do not overlap."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import altair as alt
import pandas as pd

# The size of a chart in an image file; on pages, charts can be wider, which only leaves more space.
WIDTH = 560
_PADDING = 24
_FONT = 10
_CHARACTER = 0.56 * _FONT  # mean width of a character
_RADIUS = 5


@dataclass(frozen=True, slots=True)
class PointScale:
    """The scale of one axis: the range of the data, and its length in pixels."""

    low: float
    high: float
    length: int
    is_log: bool = False
    padding: int = _PADDING

    def build_scale(self) -> alt.Scale:
        """Return the scale for Altair."""
        return alt.Scale(
            type="log" if self.is_log else "linear",
            domain=[self.low, self.high],
            nice=False,
            zero=False,
            padding=self.padding,
        )

    def compute_position(self, value: float) -> float:
        """Return the distance of a value from the lower end of the axis in pixels.

        >>> PointScale(1.0, 100.0, 248, is_log=True).compute_position(10.0)
        124.0
        """
        low, high, at = (math.log(one) if self.is_log else one for one in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.padding + share * (self.length - 2 * self.padding)


def scale_axis(values: Sequence[float], length: int, *, is_log: bool = False) -> PointScale:
    """Return the scale that shows all values."""
    return PointScale(min(values), max(values), length, is_log)


class _Place(NamedTuple):
    """The place of a name relative to its point."""

    align: Literal["left", "center", "right"]
    dx: int
    dy: int


_PLACES = (
    _Place("left", 7, -6),
    _Place("left", 8, 0),
    _Place("left", 7, 7),
    _Place("right", -7, -6),
    _Place("right", -8, 0),
    _Place("right", -7, 7),
    _Place("center", 0, -12),
    _Place("center", 0, 12),
    _Place("left", 4, -16),
    _Place("left", 4, 17),
    _Place("right", -4, -16),
    _Place("right", -4, 17),
)
_START = {"left": 0.0, "center": 0.5, "right": 1.0}
_Box = tuple[float, float, float, float]


def get_field(axis: alt.X | alt.Y) -> str:
    """Return the column of the values on an axis.

    >>> get_field(alt.X("size:Q"))
    'size'
    """
    return str(cast(dict[str, Any], axis.to_dict())["field"])


def draw_names(
    frame: pd.DataFrame, x: alt.X, y: alt.Y, scales: tuple[PointScale, PointScale], name: str
) -> list[alt.Chart]:
    """Return charts with the names of the points, one for each place of names; points without a name have none.

    `scales` are those of `x` and `y`, which name the columns of the values.
    """
    fields = [get_field(axis) for axis in (x, y)]
    points = [
        (scales[0].compute_position(across), scales[1].length - scales[1].compute_position(up))
        for across, up in zip(frame[fields[0]], frame[fields[1]], strict=True)
    ]
    places = place_names(points, list(frame[name]), (scales[0].length, scales[1].length))
    return [
        alt.Chart(frame[[one == place for one in places]])
        .mark_text(style="name", align=place.align, dx=place.dx, dy=place.dy, fontSize=_FONT)
        .encode(x=x, y=y, text=f"{name}:N")
        for place in dict.fromkeys(place for place in places if place is not None)
    ]


def place_names(
    points: Sequence[tuple[float, float]], names: Sequence[str], size: tuple[int, int]
) -> list[_Place | None]:
    """Return the place of each name, so that few names overlap points or other names; None for empty names.

    Points are pixels from the upper left corner. Names at the right and at the top are placed first.
    """
    marks: list[_Box] = [(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in points]
    places: list[_Place | None] = [None] * len(points)
    taken: list[_Box] = []
    for at in sorted(range(len(points)), key=lambda one: (-points[one][0], points[one][1])):
        if not names[at]:
            continue
        others = [mark for other, mark in enumerate(marks) if points[other] != points[at]]
        boxes = {place: _build_box(points[at], names[at], place) for place in _PLACES}
        best = min(
            _PLACES,
            key=lambda place: (
                sum(_measure_overlap(boxes[place], other) for other in (*others, *taken))
                + _measure_excess(boxes[place], size)
            ),
        )
        places[at] = best
        taken.append(boxes[best])
    return places


def _build_box(point: tuple[float, float], name: str, place: _Place) -> _Box:
    width = _CHARACTER * len(name)
    left = point[0] + place.dx - _START[place.align] * width
    middle = point[1] + place.dy
    return left, middle - _FONT / 2, left + width, middle + _FONT / 2


def _measure_overlap(first: _Box, second: _Box) -> float:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(width, 0.0) * max(height, 0.0)


def _measure_excess(box: _Box, size: tuple[int, int]) -> float:
    """Return the area of a box outside the chart."""
    inside = _measure_overlap(box, (0.0, 0.0, float(size[0]), float(size[1])))
    return (box[2] - box[0]) * (box[3] - box[1]) - inside
