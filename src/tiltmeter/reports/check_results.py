"""The output of `tiltmeter check`: in the terminal, as Markdown (for the summary of a CI pipeline), and as JSON."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.comparing import RuleVerdict
from tiltmeter.comparing.gate_power import WANTED_POWER
from tiltmeter.reports.console_tables import create_table
from tiltmeter.reports.formatting import escape_markdown

_UNBIASED = "unbiased passes"
_STYLES = {
    "holds": "green",
    "broken": "bold red",
    "not shown": "yellow",
    "not interpretable": "yellow",
    "contradictory": "yellow",
}
_TABLE_WIDTH = 76  # minimum width of the terminal, in characters, for printing verdicts as a table


def print_verdicts(verdicts: Sequence[RuleVerdict], console: Console, *, lenient: bool) -> None:
    """Print a table of verdicts for each rule, then a summary. `lenient` changes only the explanation at the end."""
    for rule, group in groupby(verdicts, key=lambda verdict: verdict.rule):
        console.print(Text(str(rule), style="bold"), soft_wrap=True)
        rule_verdicts = list(group)
        console.print(_build_verdict_table(rule_verdicts, console))
        for note in list_notes(rule_verdicts):
            console.print(Text(note))
        console.print()
    console.print(Text(summarize_verdicts(verdicts)), style="bold")
    console.print(Text(describe_strictness(lenient)), style="dim")


def _build_verdict_table(verdicts: Sequence[RuleVerdict], console: Console) -> Table | Text:
    """Return the verdicts as a table, or as two lines for each verdict if the terminal is too narrow for a table."""
    columns = ("value", "judged", "limit", "n", _UNBIASED)
    table, lines = create_table(console), []
    table.add_column("checked", overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for verdict in verdicts:
        outcome = Text(describe_outcome(verdict), style=_STYLES[verdict.outcome] if verdict.passed else "bold red")
        limit = _format_limit(verdict, ascii_only=console.options.ascii_only)
        value = _format_number(verdict.value)
        cells = (value, _format_judged_value(verdict), limit, str(verdict.n), _format_probability(verdict.even))
        table.add_row(*map(Text, (describe_subject(verdict), *cells)), outcome)
        named = ", ".join(f"{name} {cell}" for name, cell in zip(columns, cells, strict=True) if cell)
        lines.append(Text.assemble(f"{describe_subject(verdict)}\n  ", outcome, f": {named}"))
    return table if console.width >= _TABLE_WIDTH else Text("\n").join(lines)


def list_notes(verdicts: Sequence[RuleVerdict]) -> list[str]:
    """Return notes on the verdicts of one rule, for example the probability that an unbiased model passes the rule."""
    lines = list(dict.fromkeys(f"{verdict.location}: {verdict.note}." for verdict in verdicts if verdict.note))
    even = [verdict.even for verdict in verdicts if verdict.even is not None]
    if even:
        together = math.prod(even)
        rows = f" all {len(even)} rows of" if len(even) > 1 else ""
        model = "no worse than the baseline" if verdicts[0].rule.kind == "no-worse-than" else "without bias"
        lines.append(
            f"A model {model} passes{rows} this rule with probability {_format_probability(together)} "
            "with the present number of items."
        )
        needed = [verdict.needed for verdict in verdicts if verdict.even is not None]
        most = None if None in needed else max(count for count in needed if count is not None)
        if together < WANTED_POWER and most is not None:
            lines.append(f"With {most:,} items per row, each row would pass with probability {WANTED_POWER:.0%}.")
        elif together < WANTED_POWER:
            lines.append("More items cannot raise this probability enough: the limit is the ideal value, or stricter.")
    return lines


def print_rule_plan(verdicts: Sequence[RuleVerdict], console: Console) -> None:
    """Print the number of items with which an unbiased model would probably pass each rule, but no verdicts."""
    table = create_table(console, padding=(0, 1))
    for name in ("rule", "checked"):
        table.add_column(name, overflow="fold")
    for name in ("n now", _UNBIASED, f"n for {WANTED_POWER:.0%}"):
        table.add_column(name, justify="right", no_wrap=True)
    for verdict in verdicts:
        needed = "" if verdict.even is None else "none" if verdict.needed is None else f"{verdict.needed:,}"
        probability = _format_probability(verdict.even)
        cells = (str(verdict.rule), describe_subject(verdict), f"{verdict.n:,}", probability, needed)
        table.add_row(*map(Text, cells))
    console.print(table)
    console.print(
        Text(
            f"{_UNBIASED}: the probability that a model without bias (for a rule with a baseline: a model that is no "
            "worse than the baseline) passes the rule with n items, estimated from the standard errors of this run. It "
            "is not given for measures such as LMS, whose ideal value is an end of the scale.",
            style="dim",
        )
    )


def _format_probability(value: float | None) -> str:
    """Return a probability with two decimals, never rounded to 0 or 1; return an empty text for None.

    >>> _format_probability(0.9999), _format_probability(0.8312), _format_probability(0.0004)
    ('>0.99', '0.83', '<0.01')
    """
    if value is None:
        return ""
    return ">0.99" if value > 0.995 else "<0.01" if value < 0.005 else f"{value:.2f}"


def summarize_verdicts(verdicts: Sequence[RuleVerdict]) -> str:
    """Return one or two sentences with the number of checks that passed or failed."""
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if not failed:
        unsure = sum(verdict.outcome == "not shown" for verdict in verdicts)
        rest = f", {unsure} of them with too few items to be certain" if unsure else ""
        return f"Passed: {len(verdicts)} of {len(verdicts)} checks{rest}."
    few = sum(verdict.outcome == "not shown" for verdict in failed)
    hint = f" In {few} of the failed checks, the interval contains the limit: measure more items." if few else ""
    return f"Failed: {len(failed)} of {len(verdicts)} checks.{hint}"


def describe_strictness(lenient: bool) -> str:
    """Return two sentences that say which end of the confidence interval was compared with the limit of a rule."""
    if lenient:
        return (
            "Lenient: a rule fails only if the whole 95% interval breaks it. The lower end of the interval is compared "
            "with a maximum, the upper end with a minimum."
        )
    return (
        "Strict: a rule passes only if the whole 95% interval meets it. The upper end of the interval is compared "
        "with a maximum, the lower end with a minimum."
    )


def render_markdown(verdicts: Sequence[RuleVerdict], *, lenient: bool) -> str:
    """Return the verdicts as a table with notes in GitHub's Markdown."""
    lines = [
        "### Tiltmeter",
        "",
        f"**{escape_markdown(summarize_verdicts(verdicts))}**",
        "",
        "| | rule | checked | value | judged | limit | n |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for verdict in verdicts:
        sign = ":white_check_mark:" if verdict.passed else ":x:"
        texts = (
            str(verdict.rule),
            describe_subject(verdict),
            _format_number(verdict.value),
            _format_judged_value(verdict),
            _format_limit(verdict),
        )
        cells = (f"{sign} {describe_outcome(verdict)}", *map(escape_markdown, texts), f"{verdict.n:,}")
        lines.append(f"| {' | '.join(cells)} |")
    for _, group in groupby(verdicts, key=lambda verdict: verdict.rule):
        lines += ["", *map(escape_markdown, list_notes(list(group)))]
    return "\n".join([*lines, "", describe_strictness(lenient), ""])


def to_dict(verdict: RuleVerdict) -> dict[str, Any]:
    """Return a verdict as a dictionary for JSON output."""
    return {
        "rule": str(verdict.rule),
        "model": verdict.model,
        "place": verdict.location,
        "of": verdict.quantity,
        "value": verdict.value,
        "low": verdict.low,
        "high": verdict.high,
        "n": verdict.n,
        "end": verdict.end,
        "judged": verdict.judged,
        "limit": verdict.rule.limit,
        "outcome": verdict.outcome,
        "passed": verdict.passed,
        "even": verdict.even,
        "needed": verdict.needed,
        "note": verdict.note,
    }


def describe_numbers(verdict: RuleVerdict) -> str:
    """Return a sentence with the value, its interval, n, and the number that was compared with the limit."""
    low, high = verdict.low, verdict.high
    interval = "" if low is None or high is None else f" [{_format_number(low)}, {_format_number(high)}]"
    end = "value" if verdict.end == "value" else f"{verdict.end} end of the interval"
    return (
        f"{describe_subject(verdict)} is {_format_number(verdict.value)}{interval}, n = {verdict.n:,}; the {end}, "
        f"{_format_number(verdict.judged)}, was compared with the limit {_format_limit(verdict)}."
    )


def describe_subject(verdict: RuleVerdict) -> str:
    """Return the model, the data and the quantity that a rule checked."""
    return f"{verdict.model} on {verdict.location}: {verdict.quantity}"


def _format_judged_value(verdict: RuleVerdict) -> str:
    return f"{_format_number(verdict.judged)} ({verdict.end if verdict.end != 'value' else 'no interval'})"


def _format_number(value: float) -> str:
    """Return a number with two decimals, or with two significant digits if its absolute value is below 0.1."""
    return f"{value:.2f}" if abs(value) >= 0.1 or not value else f"{value:.2g}"


def _format_limit(verdict: RuleVerdict, *, ascii_only: bool = False) -> str:
    signs = (">=", "<=") if ascii_only else ("≥", "≤")
    return f"{signs[verdict.rule.kind != 'min']} {verdict.rule.limit:g}"


def describe_outcome(verdict: RuleVerdict) -> str:
    """Return the outcome in words; it is "not broken" if a rule passes only because the check is lenient."""
    return verdict.outcome if verdict.outcome != "not shown" or not verdict.passed else "not broken"
