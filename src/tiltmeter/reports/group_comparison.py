"""The output of `tiltmeter compare --group`: a table and sentences for each contrast of two groups."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.cells import shorten_names
from tiltmeter.comparing.group_difference import Group, GroupComparison, GroupDifference
from tiltmeter.measures.crossed_effects import MemberInference
from tiltmeter.measures.group_contrasts import FEWEST_MEMBERS
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict import UNRELIABLE_KINDS
from tiltmeter.reports.comparison import describe_difference, format_numbers, group_by_pair, print_pair_title
from tiltmeter.reports.console_tables import MEMBER_WIDTH, format_part, print_fitting_table
from tiltmeter.reports.formatting import format_p
from tiltmeter.reports.method_texts import describe_factors

_METHOD = (
    "The values of an item are averaged over the members of each group, and the two means are compared{factors}. "
    "Holm: p, corrected for all contrasts of one measure in one part and language. The first interval and p are for "
    "these members on items like these. The interval and p over members, which need five members in each group, are "
    "for other members like these: they include the variation between members and between items (crossed random "
    "effects). A mean hides members that are biased in opposite directions."
)


def print_groups(comparison: GroupComparison, console: Console) -> None:
    """Print a table and sentences for each contrast of two groups, then the notes and the method."""
    for contrast in group_by_pair(comparison.differences):
        print_pair_title(contrast[0], console)
        _print_table(contrast, console)
        for sentence in describe_contrast(contrast):
            console.print(Text(sentence))
        console.print()
    for note in comparison.notes:
        console.print(Text(note))
    console.print(Text(describe_group_method(comparison.differences), style="dim"))


def describe_group_method(differences: Sequence[GroupDifference]) -> str:
    """Return a text that explains how the contrasts of groups were computed."""
    return _METHOD.format(factors=describe_factors(d.quantity for d in differences if d.contrast.clusters is not None))


def describe_contrast(contrast: Sequence[GroupDifference]) -> Iterator[str]:
    """Yield sentences on a contrast of two groups: the differences in measures of bias, their scope, and the members.

    If there are results over all parts, single parts are left out, unless a result over all parts is contradictory or
    not interpretable.
    """
    biases = [d for d in contrast if d.quantity.measure.bias_direction] or list(contrast)
    pooled = [d for d in biases if d.part == OVERALL] or biases
    if any(d.verdict in UNRELIABLE_KINDS for d in pooled):
        pooled = biases
    limited: dict[str, str] = {}
    for d in pooled:
        yield describe_difference(d)
        if d.verdict in ("contradictory", "identical"):
            continue
        if d.over_members is None:
            limited.setdefault(describe_scope(d), d.part)  # one sentence for all parts and measures with the same scope
        else:
            yield describe_scope(d)
    for sentence, part in limited.items():
        yield f"{part}: {sentence}" if len(limited) > 1 else sentence
    first = pooled[0]
    for group in (first.left, first.right):
        yield f"{group.label}: {_format_members(group, first)}."


def describe_scope(difference: GroupDifference) -> str:
    """Return a sentence on the scope of a difference between two groups of models or languages.

    The scope is either only the members of the two groups, or also other members like these.
    """
    counts = f"{len(difference.left.members)} and {len(difference.right.members)} {difference.members}"
    over = difference.over_members
    if over is None:
        return (
            f"This result is only for these {counts}. It does not generalise to other {difference.members}, because "
            f"that needs at least {FEWEST_MEMBERS} in each group."
        )
    number = difference.quantity.measure.number
    ends = ", ".join(number(end, signed=True) for end in (over.low, over.high))
    verdict = "significant" if over.significant else "not significant"
    return (
        f"This result is for these {counts}. For {difference.members} like these: [{ends}], {verdict} "
        f"(Holm {format_p(over.p_holm)})."
    )


def _format_members(group: Group, difference: GroupDifference) -> str:
    number = difference.quantity.measure.number
    return shorten_names([f"{name} ({number(value)})" for name, value in group.members.items()])


def format_cells(difference: GroupDifference) -> list[str]:
    """Return the cells of a table row for a difference, without the cell of the part."""
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
    cells: Sequence[str], first: int, significant: bool, over: MemberInference | None
) -> list[Text]:
    """Return the cells of a row, with significant results in bold.

    The first `first` cells are bold if the result is significant for the compared models or languages. The other cells
    are bold if the result is also significant for other models or languages like these (`over`).
    """
    bold = "bold" if significant else "", "bold" if over is not None and over.significant else ""
    return [Text(cell, style=bold[number >= first]) for number, cell in enumerate(cells)]


HEADS = ("", "left", "right", "diff", "95% interval", "Holm", "n", "over members", "Holm")


def _print_table(contrast: Sequence[GroupDifference], console: Console) -> None:
    generalises = console.width >= MEMBER_WIDTH and any(d.over_members is not None for d in contrast)
    shown = len(HEADS) if generalises else len(HEADS) - 2
    part, rows = None, []
    for d in contrast:
        row = ["" if d.part == part else format_part(d.part, console), *format_cells(d)[:shown]]
        rows.append(highlight_significant(row, len(HEADS) - 1, d.significant, d.over_members))
        part = d.part
    print_fitting_table(console, ("part", *HEADS[:shown]), rows, labels=2, optional=("left", "right"))
