"""The output of `tiltmeter compare` in the terminal: a table and a sentence for each pair that was compared."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.paired_difference import Comparison, Difference, PairedDifference
from tiltmeter.measures import Measure
from tiltmeter.measures.records import OVERALL
from tiltmeter.reports.comparison_matrix import build_matrices, is_large, print_matrices
from tiltmeter.reports.console_tables import format_part, print_fitting_table
from tiltmeter.reports.formatting import format_count, format_p

METHOD = (
    "Paired, item by item; items about one target term are a cluster. Intervals and p: Student's t of the paired "
    "differences, for SS, LMS and CPS together with McNemar's mid-P test, whichever is more cautious; for GEST within "
    "stereotypes. Holm: p corrected over all tests of one measure on one benchmark. effect: Cohen's g of the items "
    "that differ (SS, LMS, CPS), Hedges' g for other means. differ: the items on which the two disagree. seen: the "
    "difference that n such items detect with a power of 80%."
)

_EFFECT = Measure("effect size", "Cohen's g or Hedges' g", digits=2)


# How many notes a summary has; those on single pairs are many.
_NOTES = 8


def print_comparison(comparison: Comparison, console: Console, *, everything: bool = False) -> None:
    """Print every difference, then the notes and an explanation of the columns.

    A comparison of many models or languages begins with a summary, and goes on only if `everything` is wanted.
    """
    notes = list(comparison.notes)
    if is_large(comparison):
        print_matrices(build_matrices(comparison), console)
        if not everything:
            for note in notes[:_NOTES]:
                console.print(Text(note))
            more = f" and {format_count(len(notes) - _NOTES, 'more note')}" if len(notes) > _NOTES else ""
            count = format_count(len(group_by_pair(comparison.differences)), "pair")
            console.print(Text(f"{count} compared; --all prints them one by one{more}, --json all numbers."))
            return
        console.print()
    for pair in group_by_pair(comparison.differences):
        first = pair[0]
        console.print(
            Text.assemble(
                (first.left.label, "bold"), _get_minus_sign(console), (first.right.label, "bold"), f", {first.subject}"
            ),
            soft_wrap=True,
        )
        _print_table(pair, console)
        for difference in select_summaries(pair):
            console.print(Text(describe_difference(difference)))
        console.print()
    for note in notes:
        console.print(Text(note))
    console.print(Text(METHOD, style="dim"))


def group_by_pair(differences: Sequence[Difference]) -> list[list[Difference]]:
    """The differences by compared pair, parts and measures together."""
    groups: dict[tuple[str, str, str], list[Difference]] = {}
    for difference in differences:
        key = (difference.subject, difference.left.label, difference.right.label)
        groups.setdefault(key, []).append(difference)
    return list(groups.values())


def select_summaries(pair: Sequence[Difference]) -> Iterator[Difference]:
    """The differences to put into words: those in measures of bias, of the pooled parts if there are any.

    A part with a significant difference in the opposite direction is included, and so are all parts where they
    contradict each other: the pooled number would hide them.
    """
    biases = [difference for difference in pair if not difference.quantity.measure.ideal_at_bound] or list(pair)
    pooled = {d.quantity.name: d.contrast.difference for d in biases if d.part == OVERALL}
    contradictory = {d.quantity.name for d in biases if d.verdict == "contradictory"}
    for difference in biases:
        name = difference.quantity.name
        whole = pooled.get(name)
        if (
            name in contradictory
            or whole is None
            or difference.part == OVERALL
            or (difference.significant and whole * difference.contrast.difference < 0)
        ):
            yield difference


def describe_difference(difference: PairedDifference) -> str:
    """A difference in words.

    That two numbers differ and that one is farther from the ideal are two statements: SS 46 and 54 are equally biased.
    """
    contrast, measure, ideal = difference.contrast, difference.quantity.measure, f"{difference.quantity.ideal:g}"
    left, right, verdict = difference.left.label, difference.right.label, difference.verdict
    texts = format_numbers(difference)
    prefix = "" if difference.part == "all" else f"{difference.part}: "
    both = f"{measure.name} {texts['left']} and {texts['right']} on the same {contrast.n:,} items"
    interval = f"{texts['difference']} [{texts['low']}, {texts['high']}]"
    if verdict == "not interpretable":
        start = "not" if prefix else "Not"
        return f"{prefix}{start} interpretable, so {both} are not compared: {'; '.join(difference.doubts)}."
    if verdict == "contradictory":
        return f"{prefix}contradictory, so the parts are not pooled: {difference.contradiction}."
    if verdict == "identical":
        return f"{prefix}{left} and {right} gave the same answers to all {contrast.n:,} items ({both})."
    if verdict == "no difference":
        margin = measure.margin_words(measure.margin or 0.0)
        start = "no" if prefix else "No"
        return f"{prefix}{start} difference beyond ±{margin} between {left} and {right}: {both}, {interval}."
    if verdict == "inconclusive":
        start = "inconclusive" if prefix else "Inconclusive"
        # Where all items differ by the same amount, or not at all, there is no detectable difference to state.
        detectable = f" This many items can show a difference of {texts['seen']}." if contrast.detectable else ""
        return (
            f"{prefix}{start} between {left} and {right} (n={contrast.n:,}): {both}, difference {interval}.{detectable}"
        )
    if contrast.farther_low > 0 or contrast.farther_high < 0:
        worse, better = (left, right) if contrast.farther_low > 0 else (right, left)
        words = f"{worse} is significantly farther from {ideal} than {better}"
    else:
        more, less = (left, right) if contrast.difference > 0 else (right, left)
        words = f"{more} is significantly higher than {less}, but not shown to be farther from {ideal}"
    return f"{prefix}{words}: {both}, difference {interval}."


def format_numbers(difference: PairedDifference) -> dict[str, str]:
    """The numbers of a difference as text."""
    contrast, number = difference.contrast, difference.quantity.measure.number
    return {
        "left": number(contrast.left),
        "right": number(contrast.right),
        "difference": number(contrast.difference, signed=True),
        "low": number(contrast.low, signed=True),
        "high": number(contrast.high, signed=True),
        "seen": number(contrast.detectable) if contrast.detectable else "",
        "p": format_p(contrast.p_value),
        "holm": format_p(difference.p_holm),
        "effect": "" if contrast.effect is None else _EFFECT.number(contrast.effect, signed=True),
    }


_HEADS = ("part", "", "left", "right", "diff", "95% interval", "p", "Holm", "effect", "differ", "n", "seen")


def _print_table(pair: Sequence[Difference], console: Console) -> None:
    part, rows = None, []
    for difference in pair:
        texts = format_numbers(difference)
        cells = [
            "" if difference.part == part else format_part(difference.part, console),
            difference.quantity.name,
            *(texts[name] for name in ("left", "right", "difference")),
            f"[{texts['low']}, {texts['high']}]",
            *(texts[name] for name in ("p", "holm", "effect")),
            str(difference.contrast.disagree),
            str(difference.contrast.n),
            texts["seen"],
        ]
        rows.append(cells)
        part = difference.part
    bold = [number for number, difference in enumerate(pair) if difference.significant]
    print_fitting_table(console, _HEADS, rows, labels=2, optional=("p", "seen", "effect", "differ"), bold=bold)


def _get_minus_sign(console: Console) -> str:
    return " - " if console.options.ascii_only else " − "
