"""Strips for the first screen of a report: a model among published results, on the scale of its measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.comparing.reference_comparison import compare_with_references
from tiltmeter.comparing.reference_position import Position
from tiltmeter.comparing.reference_sets import PUBLISHED, find_published_sets, load_references
from tiltmeter.errors import TiltmeterError
from tiltmeter.measures.verdict import VerdictDirection
from tiltmeter.reports.display_text import clip_text, format_label
from tiltmeter.reports.formatting import format_count
from tiltmeter.reports.reference_texts import describe_position, list_leading_positions
from tiltmeter.runs.result import Result

WIDTH = 400  # in units of the SVG drawing
_MOST_STRIPS = 6  # maximum number of strips for one benchmark


@dataclass(frozen=True, slots=True)
class ReferenceStrip:
    """A drawing of one position: horizontal coordinates from 0 to `WIDTH`.

    `marks` are pairs (coordinate, name with value) of the reference models.
    """

    title: str
    sentence: str
    side: VerdictDirection
    ideal: float
    low: float
    high: float
    value: float
    marks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class ReferenceHeadline:
    """The part of the first screen on published results for one benchmark: strips, and a note."""

    strips: tuple[ReferenceStrip, ...] = ()
    note: str = ""


def build_reference_headlines(
    results: Sequence[tuple[str, Result]], names: Mapping[str, str]
) -> dict[str, ReferenceHeadline]:
    """Return the headline of each benchmark with published results; `names` maps benchmarks to display names.

    If no published result is in the cache, or none is comparable, the headline is a note with the reason.
    """
    portions = frozenset().union(*(result.manifest.portions for _, result in results))
    published = {benchmark for one in find_published_sets(portions) for benchmark, _ in one.portions & portions}
    headlines = {}
    for benchmark in sorted(published):
        here = {portion for portion in portions if portion[0] == benchmark}
        headlines[names.get(benchmark, benchmark)] = _build_headline(results, here)
    return headlines


def _build_headline(results: Sequence[tuple[str, Result]], portions: set[tuple[str, str]]) -> ReferenceHeadline:
    try:
        comparison = compare_with_references(results, load_references(PUBLISHED, portions), PUBLISHED)
    except TiltmeterError as error:
        return ReferenceHeadline(note=clip_text(str(error)))
    placed = [
        position for position in comparison.positions if (position.cell.benchmark, position.cell.language) in portions
    ]
    leading = [position for position in list_leading_positions(placed) if position.standings]
    strips = tuple(build_reference_strip(position) for position in leading[:_MOST_STRIPS])
    hidden = len(leading) - _MOST_STRIPS
    more = f"Not drawn: {format_count(hidden, 'more result')}. " if hidden > 0 else ""
    return ReferenceHeadline(strips, f"{more}`tiltmeter compare RUN --with published` lists the models and the tests.")


def build_reference_strip(position: Position) -> ReferenceStrip:
    """Return the strip of a position; the scale contains all values."""
    measure = position.quantity.measure
    low, high = position.interval or (position.value, position.value)
    values = [standing.value for standing in position.standings]
    # If lower values are more stereotypical, the lower end of the scale is on the right.
    start, end = sorted(measure.distance(at) for at in measure.span([*values, low, high, position.value]))

    def compute_x(number: float) -> float:
        return round((measure.distance(number) - start) / (end - start) * WIDTH, 1)

    left, right = sorted(map(compute_x, (low, high)))
    marks = (
        (compute_x(one.value), f"{format_label(one.label)}: {measure.name} {measure.number(one.value)}")
        for one in position.standings
    )
    return ReferenceStrip(
        f"{format_label(position.cell.model)}, {position.cell.location}",
        clip_text(describe_position(position)),
        # As in rulers, only a value whose interval excludes the ideal has a colour.
        measure.side(position.value) if not low <= position.quantity.ideal <= high else "none",
        compute_x(position.quantity.ideal),
        left,
        right,
        compute_x(position.value),
        tuple(marks),
    )
