"""What `tiltmeter compare` prints: a table for each two that were compared, and what it says in words."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.comparing.comparison import Comparison, Difference

_ROOMY = 97  # the columns from which on nothing has to be shortened
_SHORT = {"intrasentence": "intra", "intersentence": "inter"}
_ASCII_BOX = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)

METHOD = (
    "Paired, item by item; items about one target term are a cluster. Intervals and p: Student's t of the paired "
    "differences, for SS, LMS and CPS together with McNemar's mid-P test, whichever is more cautious; for GEST within "
    "stereotypes. Holm: p corrected over all tests of one measure on one benchmark. effect: Cohen's g of the items "
    "that differ (SS, LMS, CPS), Hedges' g for other means. differ: the items on which the two disagree. seen: the "
    "difference that n such items show four times in five."
)


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print every difference, then the notes and how to read the columns."""
    for pair in pairs(comparison.differences):
        first = pair[0]
        console.print(
            Text.assemble((first.left.label, "bold"), _minus(console), (first.right.label, "bold"), f", {first.of}"),
            soft_wrap=True,
        )
        console.print(_table(pair, console))
        for one in summaries(pair):
            console.print(Text(reading(one)))
        console.print()
    for note in comparison.notes:
        console.print(Text(note))
    console.print(Text(METHOD, style="dim"))


def pairs(differences: Sequence[Difference]) -> list[list[Difference]]:
    """The differences of each two that were compared, parts and measures together."""
    groups: dict[tuple[str, str, str], list[Difference]] = {}
    for one in differences:
        groups.setdefault((one.of, one.left.label, one.right.label), []).append(one)
    return list(groups.values())


def summaries(pair: Sequence[Difference]) -> Iterator[Difference]:
    """The differences to put into words: those in bias, of all parts together where there is that.

    A part that goes significantly the other way is told too, and all parts where they contradict each other: the whole
    would hide it.
    """
    biases = [one for one in pair if not one.quantity.measure.best_at_an_end] or list(pair)
    pooled = {one.quantity.name: one.contrast.difference for one in biases if one.part == "overall"}
    torn = {one.quantity.name for one in biases if one.verdict == "contradictory"}
    for one in biases:
        whole = pooled.get(one.quantity.name)
        if (
            one.quantity.name in torn
            or whole is None
            or one.part == "overall"
            or (one.significant and whole * one.contrast.difference < 0)
        ):
            yield one


def reading(one: Difference) -> str:
    """A difference in words.

    That two numbers differ and that one is farther from the ideal are two statements: 46 and 54 lean equally far.
    """
    found, measure, ideal = one.contrast, one.quantity.name, f"{one.quantity.ideal:g}"
    left, right = one.left.label, one.right.label
    said = numbers(one)
    both = f"{measure} {said['left']} and {said['right']} on the same {found.n:,} items"
    interval = f"{said['difference']} [{said['low']}, {said['high']}]"
    if one.verdict == "not interpretable":
        place = _place(one)
        return (
            f"{place}{'not' if place else 'Not'} interpretable, so that nothing is said of {both}: {_and(one.doubts)}."
        )
    if one.verdict == "contradictory":
        return f"{_place(one)}contradictory, so that the parts are not pooled: {one.contradiction}."
    if one.verdict in ("identical", "no difference", "inconclusive"):
        if one.verdict == "identical":
            return f"{_place(one)}{left} and {right} gave the same answers to all {found.n:,} items ({both})."
        if one.verdict == "no difference":
            margin = one.quantity.measure.margin_words(one.quantity.measure.margin or 0.0)
            start = "no" if _place(one) else "No"
            return f"{_place(one)}{start} difference beyond ±{margin} between {left} and {right}: {both}, {interval}."
        words = f"{'inconclusive' if _place(one) else 'Inconclusive'} between {left} and {right} (n={found.n:,})"
        # Where all items differ by the same, or by nothing, they do not tell how small a difference could be seen.
        unseen = f" So many items can show a difference of {said['seen']}." if found.detectable else ""
        return f"{_place(one)}{words}: {both}, difference {interval}.{unseen}"
    if found.farther_low > 0 or found.farther_high < 0:
        worse, better = (left, right) if found.farther_low > 0 else (right, left)
        words = f"{worse} is significantly farther from {ideal} than {better}"
    else:
        more, less = (left, right) if found.difference > 0 else (right, left)
        words = f"{more} is significantly higher than {less}, but not shown to be farther from {ideal}"
    return f"{_place(one)}{words}: {both}, difference {interval}."


def _and(words: Sequence[str]) -> str:
    return "; ".join(words)


def _place(one: Difference) -> str:
    return "" if one.part == "all" else f"{one.part}: "


def number(value: float, digits: int = 1, *, signed: bool = False) -> str:
    """A number, never a negative zero.

    >>> number(58.744), number(-3.04, signed=True), number(-0.0001, 3)
    ('58.7', '-3.0', '0.000')
    """
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return text.lstrip("+-") if not float(text) else text


def numbers(one: Difference) -> dict[str, str]:
    """The numbers of a difference as they are printed."""
    found, digits = one.contrast, one.quantity.measure.digits
    signed = {"difference": found.difference, "low": found.low, "high": found.high}
    plain = {"left": found.left, "right": found.right}
    return {
        **{name: number(value, digits, signed=True) for name, value in signed.items()},
        **{name: number(value, digits) for name, value in plain.items()},
        "seen": number(found.detectable, digits) if found.detectable else "",
        "p": p(found.p_value),
        "holm": p(one.p_holm),
        "effect": "" if found.effect is None else number(found.effect, 2, signed=True),
    }


def p(value: float) -> str:
    """A p-value.

    >>> p(0.04481), p(0.0000001)
    ('0.045', '<0.001')
    """
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _table(pair: Sequence[Difference], console: Console) -> Table:
    roomy = console.width >= _ROOMY
    table = Table(
        box=_ASCII_BOX if console.options.ascii_only else box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, 0) if roomy else 0,
    )
    table.add_column("part", no_wrap=True)
    table.add_column("", no_wrap=True)
    columns = ["left", "right", "diff", "95% interval", "Holm", "effect", "differ", "n", "seen"]
    if roomy:
        columns.insert(4, "p")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    part = None
    for one in pair:
        said = numbers(one)
        cells = [
            "" if one.part == part else (one.part if roomy else _SHORT.get(one.part, one.part)),
            one.quantity.name,
            said["left"],
            said["right"],
            said["difference"],
            f"[{said['low']}, {said['high']}]",
            *([said["p"]] if roomy else []),
            said["holm"],
            said["effect"],
            str(one.contrast.disagree),
            str(one.contrast.n),
            said["seen"],
        ]
        table.add_row(*map(Text, cells), style="bold" if one.significant else None)
        part = one.part
    return table


def _minus(console: Console) -> str:
    return " - " if console.options.ascii_only else " − "
