"""The output of `tiltmeter compare --size`: tables and sentences on how a measure changes with model size.

A slope is the change of a measure when a model has ten times the parameters.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.size_slopes import POOLED, SizeComparison, SizeSlope
from tiltmeter.measures.records import OVERALL
from tiltmeter.reports.console_tables import MEMBER_WIDTH, print_fitting_table
from tiltmeter.reports.formatting import format_p
from tiltmeter.reports.group_comparison import highlight_significant
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.method_texts import describe_factors

_METHOD = (
    "slope: the change of the measure with ten times the parameters, by least squares; within families: one slope for "
    "all families, each with its own intercept. A slope is computed for each item; the interval of the mean slope is "
    "for these models on items like these{factors}. Holm: p, corrected for all slopes of one measure in one part and "
    "language; the slope within families is corrected separately. over models: the interval for other models like "
    "these; it needs three degrees of freedom of the regression. Models of one family may differ in more than their "
    "size."
)
SIZE_HEADS = ("family", "models", "slope", "95% interval", "Holm", "n", "over models", "Holm")


def print_sizes(comparison: SizeComparison, console: Console) -> None:
    """Print the slopes for each measure and benchmark, then the notes and the method."""
    for trend in group_by_measure(comparison.slopes):
        console.print(Text(format_title(trend[0]), style="bold"), soft_wrap=True)
        _print_table(trend, console)
        for sentence in describe_trend(trend):
            console.print(Text(sentence))
        console.print()
    for note in comparison.notes:
        console.print(Text(note))
    console.print(Text(describe_size_method(comparison.slopes), style="dim"))


def describe_size_method(slopes: Sequence[SizeSlope]) -> str:
    """Return a text that explains how the slopes were computed."""
    clustered = (slope.quantity for slope in slopes if slope.estimate.clusters is not None)
    return _METHOD.format(factors=describe_factors(clustered))


def group_by_measure(slopes: Sequence[SizeSlope]) -> list[list[SizeSlope]]:
    """Return one list of slopes for each benchmark, part and measure."""
    return list(group_by(slopes, lambda slope: (slope.subject, slope.part, slope.quantity.name)).values())


def format_title(slope: SizeSlope) -> str:
    """Return the title of a table of slopes: the measure, the benchmark with the language, and the part."""
    part = "" if slope.part in ("all", OVERALL) else f", {slope.part}"
    return f"{slope.quantity.name} by size, {slope.subject}{part}"


def describe_trend(trend: Sequence[SizeSlope]) -> Iterator[str]:
    """Yield sentences on the slope within model families, or on the slope of the family if there is only one."""
    slope = next((one for one in trend if one.family == POOLED), trend[0])
    measure, estimate = slope.quantity.measure, slope.estimate
    ends = ", ".join(measure.number(end, signed=True) for end in (estimate.low, estimate.high))
    value = f"{measure.number(estimate.value, signed=True)} [{ends}]"
    families = list(dict.fromkeys(model.family for model in slope.models))
    models = f"the {len(slope.models)} models of {', '.join(families)}"
    if slope.significant:
        direction = "rises" if estimate.value > 0 else "falls"
        yield f"{measure.name} {direction} significantly with size in {models}: {value} per tenfold size."
    else:
        yield f"Inconclusive: {measure.name} changes by {value} per tenfold size in {models}."
    over = estimate.over_members
    if over is None:
        yield "This result is only for these models. They are too few for a conclusion about other models."
    else:
        ends = ", ".join(measure.number(end, signed=True) for end in (over.low, over.high))
        verdict = f"{'' if over.significant else 'not '}significant (Holm {format_p(over.p_holm)})"
        yield f"This result is for these models. For models like these: [{ends}], {verdict}."


def format_size_cells(slope: SizeSlope) -> list[str]:
    """Return the cells of a table row for a slope; SIZE_HEADS are the headings."""
    number, estimate = slope.quantity.measure.number, slope.estimate
    over = estimate.over_members
    return [
        slope.family,
        str(len(slope.models)),
        number(estimate.value, signed=True),
        f"[{number(estimate.low, signed=True)}, {number(estimate.high, signed=True)}]",
        format_p(slope.p_holm),
        str(estimate.n),
        "" if over is None else f"[{number(over.low, signed=True)}, {number(over.high, signed=True)}]",
        "" if over is None else format_p(over.p_holm),
    ]


def _print_table(trend: Sequence[SizeSlope], console: Console) -> None:
    generalises = console.width >= MEMBER_WIDTH and any(slope.estimate.over_members is not None for slope in trend)
    shown = len(SIZE_HEADS) if generalises else len(SIZE_HEADS) - 2
    rows = [
        highlight_significant(format_size_cells(s)[:shown], len(SIZE_HEADS) - 2, s.significant, s.estimate.over_members)
        for s in trend
    ]
    print_fitting_table(console, SIZE_HEADS[:shown], rows)
