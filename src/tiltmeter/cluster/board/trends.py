"""Trends: figures that show how the values of a series of checkpoints change with the training step."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiltmeter.cluster.board.board_content import Board
from tiltmeter.cluster.board.view_models import CellView, ColumnView, build_slug
from tiltmeter.measures import get_measure
from tiltmeter.reports.display_text import format_label

# The size of a figure and its margins, in pixels.
WIDTH, HEIGHT = 340, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 8, 10, 24
# Maximum ratio of the last step to the first step above 0 for a linear axis; above this ratio, the axis is logarithmic.
_LOGARITHMIC = 30


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One model in a series of checkpoints: its training step, its cell on the board, and its place in the figure."""

    step: float
    view: CellView
    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class TrendFigure:
    """A figure of a trend: the values of the checkpoints in one column of the board.

    `points` are sorted by step, `ticks` are the positions and labels on the value axis, and `ideal` is the position of
    the ideal value.
    """

    column: ColumnView
    points: Sequence[TrendPoint]
    ticks: Sequence[tuple[float, str]]
    ideal: float
    is_logarithmic: bool
    axis: str

    @property
    def line(self) -> str:
        """Return the SVG path of the line through the points."""
        return "M" + "L".join(f"{point.x} {point.y}" for point in self.points)


@dataclass(frozen=True, slots=True)
class Trend:
    """A series of checkpoints of one model, with a figure for each column of the board."""

    name: str
    page: str
    figures: Sequence[TrendFigure]


def build_trends(board: Board) -> list[Trend]:
    """Return the trends of all series, sorted by name; leave out series with fewer than two steps in every column."""
    steps: dict[str, dict[int, float]] = {}
    for model in board.models:
        if model.described.series and model.described.step is not None:
            steps.setdefault(model.described.series, {})[model.view.number] = model.described.step
    trends = [
        Trend(format_label(name), f"trends/{build_slug(name)}.html", list(_build_figures(board, by_model)))
        for name, by_model in sorted(steps.items())
    ]
    return [trend for trend in trends if trend.figures]


def _build_figures(board: Board, steps: dict[int, float]) -> Iterator[TrendFigure]:
    for section in board.sections:
        for column in section.columns:
            cells = [cell for number, cell in column.cells.items() if number in steps]
            if len({steps[cell.model] for cell in cells}) > 1:
                yield _build_figure(
                    column, sorted(((steps[cell.model], cell) for cell in cells), key=lambda one: one[0])
                )


def _build_figure(column: ColumnView, points: Sequence[tuple[float, CellView]]) -> TrendFigure:
    measure = get_measure(column.column.key.measure)
    records = [cell.cell.record for _, cell in points]
    scale = measure.span(end for record in records for end in (record.value, *(record.interval or ())))
    bottom, top = (measure.position(end) for end in scale)
    steps = [step for step, _ in points]
    smallest = next((step for step in steps if step > 0), math.inf)
    is_logarithmic = steps[0] >= 0 and steps[-1] / smallest > _LOGARITHMIC

    def scale_step(step: float) -> float:
        if not is_logarithmic:
            return step
        # If the first step is 0, which has no logarithm, use log(1 + x).
        return math.log(step) if steps[0] else math.log1p(step / smallest)

    def compute_x(step: float) -> float:
        first, last, at = (scale_step(one) for one in (steps[0], steps[-1], step))
        return round(_LEFT + 8 + (at - first) / (last - first) * (WIDTH - _LEFT - _RIGHT - 16), 1)

    def compute_y(value: float) -> float:
        share = (measure.position(value) - bottom) / (top - bottom)
        return round(_TOP + (1 - min(max(share, 0.0), 1.0)) * (HEIGHT - _TOP - _BOTTOM), 1)

    drawn = []
    for step, cell in points:
        record = cell.cell.record
        low, high = record.interval or (record.value, record.value)
        drawn.append(TrendPoint(step, cell, compute_x(step), compute_y(record.value), compute_y(low), compute_y(high)))
    ideal = measure.ideal or 0.0
    ticks = [(compute_y(value), measure.number(value)) for value in (scale[0], ideal, scale[1])]
    return TrendFigure(column, drawn, ticks, compute_y(ideal), is_logarithmic, measure.axis)
