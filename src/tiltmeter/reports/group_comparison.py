"""The output of `tiltmeter compare --group`: for each contrast a table, what it says in words, and of whom."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.cells import shorten_names
from tiltmeter.comparing.group_difference import Group, GroupComparison, GroupDifference
from tiltmeter.measures.crossed_effects import MemberInference
from tiltmeter.measures.group_contrasts import FEWEST_MEMBERS
from tiltmeter.measures.records import OVERALL
from tiltmeter.reports.comparison import describe_difference, format_numbers
from tiltmeter.reports.console_tables import WIDE, format_part, print_fitting_table
from tiltmeter.reports.formatting import format_p

GROUP_METHOD = (
    "For each item the mean over the members of a group, then the difference of the two means; items about one target "
    "term are a cluster. Holm: p corrected over all contrasts of one measure on one benchmark. The first interval and "
    "p are of these members on items like these. Those over members and items, from five members in each group on, are "
    "of members like these: how members of a group differ is added to how items do (crossed random effects). A mean "
    "hides members that are biased in opposite directions."
)


def print_groups(comparison: GroupComparison, console: Console) -> None:
    """Print each contrast, then the notes and how it was computed."""
    for contrast in group_by_contrast(comparison.differences):
        first = contrast[0]
        minus = " - " if console.options.ascii_only else " − "
        sides = ((first.left.label, "bold"), minus, (first.right.label, "bold"), f", {first.subject}")
        console.print(Text.assemble(*sides), soft_wrap=True)
        _print_table(contrast, console)
        for sentence in describe_contrast(contrast):
            console.print(Text(sentence))
        console.print()
    for note in comparison.notes:
        console.print(Text(note))
    console.print(Text(GROUP_METHOD, style="dim"))


def group_by_contrast(differences: Sequence[GroupDifference]) -> list[list[GroupDifference]]:
    """The differences by contrast, parts and measures together."""
    found: dict[tuple[str, ...], list[GroupDifference]] = {}
    for d in differences:
        found.setdefault((d.subject, d.left.label, d.right.label), []).append(d)
    return list(found.values())


def describe_contrast(contrast: Sequence[GroupDifference]) -> Iterator[str]:
    """What a contrast says: in measures of bias, of the pooled parts where there are any; then of whom it says it."""
    biases = [d for d in contrast if d.quantity.measure.stereotype] or list(contrast)
    pooled = [d for d in biases if d.part == OVERALL] or biases
    of_these: dict[str, str] = {}
    for d in pooled:
        yield describe_difference(d)
        if d.verdict in ("contradictory", "identical"):
            continue
        if d.over_members is None:
            of_these.setdefault(describe_scope(d), d.part)  # once for all parts and measures
        else:
            yield describe_scope(d)
    for sentence, part in of_these.items():
        yield f"{part}: {sentence}" if len(of_these) > 1 else sentence
    first = pooled[0]
    for group in (first.left, first.right):
        yield f"{group.label}: {_format_members(group, first)}."


def describe_scope(difference: GroupDifference) -> str:
    """Of whom a difference says something: of these members, or also of members like these."""
    counts = f"{len(difference.left.members)} and {len(difference.right.members)} {difference.members}"
    over = difference.over_members
    if over is None:
        return (
            f"This is of these {counts}, and does not generalise to other {difference.members}: for that, each group "
            f"needs {FEWEST_MEMBERS}."
        )
    number = difference.quantity.measure.number
    ends = ", ".join(number(end, signed=True) for end in (over.low, over.high))
    found = "significant" if over.significant else "not significant"
    return (
        f"This is of these {counts}. For {difference.members} like these: [{ends}], {found} "
        f"(Holm {format_p(over.p_holm)})."
    )


def _format_members(group: Group, difference: GroupDifference) -> str:
    number = difference.quantity.measure.number
    return shorten_names([f"{name} ({number(value)})" for name, value in group.members.items()])


def format_cells(difference: GroupDifference) -> list[str]:
    """The cells of a row of the table, without its part."""
    texts = format_numbers(difference)
    over, number = difference.over_members, difference.quantity.measure.number
    ends = "" if over is None else f"[{number(over.low, signed=True)}, {number(over.high, signed=True)}]"
    return [
        difference.quantity.name,
        texts["left"],
        texts["right"],
        texts["difference"],
        f"[{texts['low']}, {texts['high']}]",
        texts["holm"],
        str(difference.contrast.n),
        ends,
        "" if over is None else format_p(over.p_holm),
    ]


def highlight_significant(
    cells: Sequence[str], of_these: int, significant: bool, over: MemberInference | None
) -> list[Text]:
    """The cells of a row: the first `of_these` bold if these members differ, the others if members like these do."""
    bold = "bold" if significant else "", "bold" if over is not None and over.significant else ""
    return [Text(cell, style=bold[number >= of_these]) for number, cell in enumerate(cells)]


HEADS = ("", "left", "right", "diff", "95% interval", "Holm", "n", "over members", "Holm")


def _print_table(contrast: Sequence[GroupDifference], console: Console) -> None:
    several = console.width >= WIDE and any(d.over_members is not None for d in contrast)
    shown = len(HEADS) if several else len(HEADS) - 2
    part, rows = None, []
    for d in contrast:
        row = ["" if d.part == part else format_part(d.part, console), *format_cells(d)[:shown]]
        rows.append(highlight_significant(row, len(HEADS) - 1, d.significant, d.over_members))
        part = d.part
    print_fitting_table(console, ("part", *HEADS[:shown]), rows, labels=2, optional=("left", "right"))
