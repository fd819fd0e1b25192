"""The output of `tiltmeter compare --size`: slopes per tenfold size, what they say in words, and of whom."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.size_slopes import POOLED, SizeComparison, SizeSlope
from tiltmeter.measures.records import OVERALL
from tiltmeter.reports.console_tables import WIDE, print_fitting_table
from tiltmeter.reports.formatting import format_p
from tiltmeter.reports.group_comparison import highlight_significant

SIZE_METHOD = (
    "slope: the change of the measure with ten times the parameters, by least squares; within families, each family "
    "has an intercept of its own. Each item has a slope, and the interval is of their mean: of these models on items "
    "like these, items about one target term as a cluster. Holm: p corrected over the slopes of one measure on one "
    "benchmark, those within families apart. Over models and items: of models like these, from three degrees of "
    "freedom of the regression on. Models of one family may differ in more than their size."
)
SIZE_HEADS = ("family", "models", "slope", "95% interval", "Holm", "n", "over models", "Holm")


def print_sizes(comparison: SizeComparison, console: Console) -> None:
    """Print the slopes of each measure and place, then the notes and how they were computed."""
    for trend in group_by_measure(comparison.slopes):
        console.print(Text(format_title(trend[0]), style="bold"), soft_wrap=True)
        _print_table(trend, console)
        for sentence in describe_trend(trend):
            console.print(Text(sentence))
        console.print()
    for note in comparison.notes:
        console.print(Text(note))
    console.print(Text(SIZE_METHOD, style="dim"))


def group_by_measure(slopes: Sequence[SizeSlope]) -> list[list[SizeSlope]]:
    """The slopes by measure and place."""
    found: dict[tuple[str, ...], list[SizeSlope]] = {}
    for slope in slopes:
        found.setdefault((slope.subject, slope.part, slope.quantity.name), []).append(slope)
    return list(found.values())


def format_title(slope: SizeSlope) -> str:
    """The measure, and what it was measured on."""
    part = "" if slope.part in ("all", OVERALL) else f", {slope.part}"
    return f"{slope.quantity.name} by size, {slope.subject}{part}"


def describe_trend(trend: Sequence[SizeSlope]) -> Iterator[str]:
    """What the slope within families says, or that of the only family."""
    slope = next((one for one in trend if one.family == POOLED), trend[0])
    measure, estimate = slope.quantity.measure, slope.estimate
    ends = ", ".join(measure.number(end, signed=True) for end in (estimate.low, estimate.high))
    value = f"{measure.number(estimate.value, signed=True)} [{ends}]"
    families = list(dict.fromkeys(model.family for model in slope.models))
    who = f"the {len(slope.models)} models of {', '.join(families)}"
    if slope.significant:
        direction = "rises" if estimate.value > 0 else "falls"
        yield f"{measure.name} {direction} significantly with size in {who}: {value} per tenfold size."
    else:
        yield f"Inconclusive: {measure.name} changes by {value} per tenfold size in {who}."
    over = estimate.over_members
    if over is None:
        yield "This is of these models, and does not generalise to others: there are too few of them for that."
    else:
        ends = ", ".join(measure.number(end, signed=True) for end in (over.low, over.high))
        found = "significant" if over.significant else "not significant"
        yield f"This is of these models. For models like these: [{ends}], {found} (Holm {format_p(over.p_holm)})."


def format_size_cells(slope: SizeSlope) -> list[str]:
    """The cells of a row of the table."""
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
    several = console.width >= WIDE and any(slope.estimate.over_members is not None for slope in trend)
    shown = len(SIZE_HEADS) - 2 * (not several)
    rows = [
        highlight_significant(format_size_cells(s)[:shown], len(SIZE_HEADS) - 2, s.significant, s.estimate.over_members)
        for s in trend
    ]
    print_fitting_table(console, SIZE_HEADS[:shown], rows)
