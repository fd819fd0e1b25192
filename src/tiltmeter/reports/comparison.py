"""The terminal output of `tiltmeter compare`: a table and sentences for each compared pair of models or languages."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.paired_difference import Comparison, Difference, PairedDifference
from tiltmeter.measures import Measure
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict import UNRELIABLE_KINDS
from tiltmeter.reports.comparison_matrix import build_matrices, is_large, print_matrices
from tiltmeter.reports.console_tables import format_part, print_fitting_table
from tiltmeter.reports.error_rates import describe_family_count
from tiltmeter.reports.formatting import format_count, format_p
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.method_texts import describe_factors, describe_tests

_EFFECT = Measure("effect size", "Cohen's g or Hedges' g", digits=2)
_MOST_NOTES = 8  # maximum number of notes below a summary of many pairs

AnyDifference = TypeVar("AnyDifference", bound=PairedDifference)


def print_comparison(comparison: Comparison, console: Console, *, everything: bool = False) -> None:
    """Print all differences of a comparison, its notes, and an explanation of the table columns.

    If many models or languages are compared, only a summary is printed unless `everything` is true.
    """
    notes = list(comparison.notes)
    if is_large(comparison):
        print_matrices(build_matrices(comparison), console)
        if not everything:
            for note in notes[:_MOST_NOTES]:
                console.print(Text(note))
            more = f" and {format_count(len(notes) - _MOST_NOTES, 'more note')}" if len(notes) > _MOST_NOTES else ""
            count = format_count(len(group_by_pair(comparison.differences)), "pair")
            console.print(Text(f"{count} compared. --all prints each of them{more}; --json prints all numbers."))
            return
        console.print()
    for pair in group_by_pair(comparison.differences):
        print_pair_title(pair[0], console)
        _print_table(pair, console)
        for difference in select_summaries(pair):
            console.print(Text(describe_difference(difference)))
        console.print()
    for note in notes:
        console.print(Text(note))
    console.print(Text(describe_method(comparison.differences), style="dim"))


def print_pair_title(difference: PairedDifference, console: Console) -> None:
    """Print the names of the two compared models or languages, and the benchmark."""
    minus = " - " if console.options.ascii_only else " − "
    left, right = (difference.left.label, "bold"), (difference.right.label, "bold")
    console.print(Text.assemble(left, minus, right, f", {difference.subject}"), soft_wrap=True)


def describe_method(differences: Sequence[PairedDifference]) -> str:
    """Return sentences that explain how the differences were computed and what the columns of their table mean."""
    factors = describe_factors(d.quantity for d in differences if d.contrast.clusters is not None)
    return (
        f"Paired by item{factors}. Intervals and p: {describe_tests(d.quantity for d in differences)}. Holm: p, "
        "corrected for all tests of the test family. differ: the number of items on which left and right disagree. "
        "MDE: minimum detectable difference with n items (80% power), with the same correction. "
        f"{describe_family_count(round(sum(1 / d.tests for d in differences)))}"
    )


def group_by_pair(differences: Sequence[AnyDifference]) -> list[list[AnyDifference]]:
    """Return one list for each compared pair, with the differences of the pair in all parts and measures."""
    return list(group_by(differences, lambda d: (d.subject, d.left.label, d.right.label)).values())


def select_summaries(pair: Sequence[Difference]) -> Iterator[Difference]:
    """Yield the differences of one pair that are described in sentences.

    These are the differences in measures of bias. If there is a result over all parts of the benchmark, single parts
    are left out, except in two cases: a part differs significantly in the opposite direction, or the result over all
    parts is contradictory or not interpretable.
    """
    biases = [difference for difference in pair if not difference.quantity.measure.ideal_at_bound] or list(pair)
    pooled = {d.quantity.name: d.contrast.difference for d in biases if d.part == OVERALL}
    divided = {d.quantity.name for d in biases if d.part == OVERALL and d.verdict in UNRELIABLE_KINDS}
    for difference in biases:
        name = difference.quantity.name
        whole = pooled.get(name)
        if (
            name in divided
            or whole is None
            or difference.part == OVERALL
            or (difference.significant and whole * difference.contrast.difference < 0)
        ):
            yield difference


def describe_difference(difference: PairedDifference) -> str:
    """Return a sentence on the difference between two models or languages in one measure.

    Two values can differ significantly and still be equally far from the ideal: SS 46 and SS 54 are equally biased.
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
        return f"{prefix}contradictory, so {both} are not compared: {difference.contradiction}."
    if verdict == "identical":
        return f"{prefix}{left} and {right} gave the same answers to all {contrast.n:,} items ({both})."
    if verdict == "no difference":
        margin = measure.margin_words(measure.margin or 0.0)
        start = "no" if prefix else "No"
        return f"{prefix}{start} difference beyond ±{margin} between {left} and {right}: {both}, {interval}."
    if verdict == "inconclusive":
        start = "inconclusive" if prefix else "Inconclusive"
        # The detectable difference is undefined if all items differ by the same amount.
        note = f" These items can detect a difference of {texts['detectable']}." if contrast.detectable else ""
        if difference.missing.largest_change:
            low, high = (measure.number(end, signed=True) for end in difference.possible)
            note = f" If all missing answers were on one side, the difference could be from {low} to {high}."
        return f"{prefix}{start} between {left} and {right} (n={contrast.n:,}): {both}, difference {interval}.{note}"
    farther_low, farther_high = difference.possible_farther
    if farther_low > 0 or farther_high < 0:
        worse, better = (left, right) if farther_low > 0 else (right, left)
        words = f"{worse} is significantly farther from {ideal} than {better}"
    else:
        more, less = (left, right) if contrast.difference > 0 else (right, left)
        words = f"{more} is significantly higher than {less}, but not significantly farther from {ideal}"
    return f"{prefix}{words}: {both}, difference {interval}."


def format_numbers(difference: PairedDifference) -> dict[str, str]:
    """Return the numbers of a difference as texts; the keys are "left", "right", "difference", "low", "p" and so on."""
    contrast, number = difference.contrast, difference.quantity.measure.number
    return {
        "left": number(contrast.left),
        "right": number(contrast.right),
        "difference": number(contrast.difference, signed=True),
        "low": number(contrast.low, signed=True),
        "high": number(contrast.high, signed=True),
        "detectable": number(difference.detectable) if contrast.detectable else "",
        "p": format_p(contrast.p_value),
        "holm": format_p(difference.p_holm),
        "effect": "" if contrast.effect is None else _EFFECT.number(contrast.effect, signed=True),
    }


_HEADS = ("part", "", "left", "right", "diff", "95% interval", "p", "Holm", "effect", "differ", "n", "MDE")


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
            texts["detectable"],
        ]
        rows.append(cells)
        part = difference.part
    bold = [number for number, difference in enumerate(pair) if difference.significant]
    print_fitting_table(console, _HEADS, rows, labels=2, optional=("p", "MDE", "effect", "differ"), bold=bold)
