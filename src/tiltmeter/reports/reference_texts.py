"""Sentences and tables on the position of a model among reference models."""

from collections.abc import Iterator, Sequence

from tiltmeter.comparing.reference_position import MIN_FOR_PERCENTILE, Position, ReferenceComparison, Standing
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.records import OVERALL
from tiltmeter.reports.display_text import format_label
from tiltmeter.reports.formatting import format_count, format_p
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.method_texts import describe_factors
from tiltmeter.reports.text_table import TextTable

_HEADS = ("95% interval", "difference", "interval of diff", "p (Holm)", "this model is", "items")
_MOST_NAMES = 4  # maximum number of models that a sentence names


def describe_position(position: Position) -> str:
    """Return the answer in one sentence: how many comparable models are less biased, the rank, and the percentile."""
    value = f"{_format_value(position)}: "
    total = len(position.standings)
    if not total:
        return f"{value}no position, because {position.reason or 'only results of the same model are comparable'}."
    if position.closer >= position.farther:
        words, count, outcome = _get_words(position)[0], position.closer, "more biased"
    else:
        words, count, outcome = _get_words(position)[1], position.farther, "less biased"
    significant = position.count("more biased" if outcome == "more biased" else "less biased")
    models = f"{count} of {total} comparable models" if total > 1 else "the only comparable model"
    sure = (
        f"significant for {significant or 'none'} of them"
        if total > 1
        else f"{'' if significant else 'not '}significant"
    )
    return f"{value}{words} than {models} ({sure}). {_describe_rank(position)}"


def _describe_rank(position: Position) -> str:
    total, ranks = len(position.standings), position.rank_range
    text = f"Rank {position.rank} of {total + 1}, 95% interval {ranks.first} to {ranks.last}; 1 is closest to the ideal"
    if position.percentile is None:
        few = f"fewer than {MIN_FOR_PERCENTILE} models, so no percentile"
        return f"{text}; {few}."
    value, low, high = position.percentile
    return f"{text}; percentile {value:.0f} [{low:.0f}, {high:.0f}]."


def list_details(position: Position) -> Iterator[str]:
    """Yield sentences on the results of the same model, and on the reference models that are left out."""
    for standing in position.same:
        contrast = standing.difference.contrast
        disagree = f"on {contrast.disagree:,} of {contrast.n:,} items" if contrast.disagree else "on no item"
        number = position.quantity.measure.number
        yield (
            f"Left out of the rank, because it is the same model: {standing.difference.right.cell.run}, "
            f"{position.quantity.name} {number(standing.value)}; the two results disagree {disagree}."
        )
    if unsure := [one.label for one in position.standings if one.depends_on_missing_answers]:
        yield (
            "Not separable although p is small, because missing answers could change the result: "
            f"{_list_names(unsure)}."
        )
    for left_out in position.left_out:
        option = f" ({left_out.option} includes them)" if left_out.option else ""
        count = format_count(len(left_out.models), "reference model")
        yield f"Left out: {count} {left_out.reason}{option}: {_list_names(left_out.models)}."


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(map(format_label, names[:_MOST_NAMES]))}{more}"


def format_position_title(position: Position) -> str:
    """Return the title of a position: the model, the measure and the data."""
    return f"{format_label(position.cell.model)}: {position.quantity.name} on {position.cell.location}"


def build_position_table(position: Position) -> TextTable:
    """Return the table of the model and the reference models, sorted by value, highest first."""
    estimate = _format_estimate(position.quantity.measure, position.value, position.interval)
    own = [format_label(position.cell.model), *estimate, *[""] * 5]
    rows = [(standing.value, _build_row(position, standing)) for standing in position.standings]
    rows.append((position.value, own))
    ordered = [row for _, row in sorted(rows, key=lambda entry: -entry[0])]
    return TextTable(
        format_position_title(position),
        ("model", position.quantity.name, *_HEADS),
        ordered,
        frozenset(number for number, row in enumerate(ordered) if row is own),
        optional=("95% interval", "items"),
    )


def describe_reference_method(comparison: ReferenceComparison) -> str:
    """Return sentences that explain how the model was compared with the reference models."""
    factors = describe_factors(position.quantity for position in comparison.positions)
    return (
        f"Paired by item{factors}. difference: this model minus the reference model, on the items that both have. "
        "p (Holm): the test of equal distances from the ideal, corrected for all reference models of one part and "
        "measure. The interval of the rank and of the percentile accounts for the items, not for the choice of the "
        "reference models, which are not a random sample of all models. percentile: the percentage of comparable "
        "models that are closer to the ideal. higher, lower: the values differ significantly, but their distances from "
        "the ideal do not."
    )


def list_answers(comparison: ReferenceComparison) -> list[str]:
    """Return one sentence for each leading position; models are named if there are several."""
    leading = list_leading_positions(comparison.positions)
    several = len({position.cell.model for position in leading}) > 1
    return [
        f"{f'{format_label(position.cell.model)} on ' if several else ''}{position.cell.location}: "
        f"{describe_position(position)}"
        for position in leading
    ]


def list_leading_positions(positions: Sequence[Position]) -> list[Position]:
    """Return the positions over all parts.

    A position over all parts without comparable reference models is replaced by the positions of its parts. If these
    have none either, it is kept, because it contains the reason.
    """
    leading: list[Position] = []
    for group in group_by(positions, _get_subject).values():
        placed = [position for position in group if position.standings]
        overall = [position for position in placed if position.cell.part == OVERALL]
        leading += overall or placed or sorted(group, key=lambda position: position.cell.part != OVERALL)[:1]
    return leading


def _get_subject(position: Position) -> tuple[str, ...]:
    cell = position.cell
    return cell.run, cell.model, cell.benchmark, cell.language, position.quantity.name


def _get_words(position: Position) -> tuple[str, str]:
    measure = position.quantity.measure
    if measure.bias_direction:
        return "more biased", "less biased"
    return "worse", "better"


def _format_value(position: Position) -> str:
    ends = _format_estimate(position.quantity.measure, position.value, position.interval)
    return " ".join(filter(None, (position.quantity.name, *ends)))


def _format_estimate(measure: Measure, value: float, interval: Interval | None) -> list[str]:
    ends = "" if interval is None else f"[{measure.number(interval[0])}, {measure.number(interval[1])}]"
    return [measure.number(value), ends]


def _build_row(position: Position, standing: Standing) -> list[str]:
    measure, contrast = position.quantity.measure, standing.difference.contrast
    signed = [measure.number(end, signed=True) for end in (contrast.difference, contrast.low, contrast.high)]
    more, less = _get_words(position)
    outcomes = {"more biased": more, "less biased": less, "inconclusive": "not separable"}
    return [
        format_label(standing.label),
        *_format_estimate(measure, standing.value, standing.interval),
        signed[0],
        f"[{signed[1]}, {signed[2]}]",
        format_p(standing.p_farther),
        outcomes.get(standing.outcome, standing.outcome),
        f"{contrast.n:,}",
    ]
