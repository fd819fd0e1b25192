"""The output of `tiltmeter check`: in the terminal, as Markdown for the summary of a pipeline, and as JSON."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.comparing import RuleVerdict
from tiltmeter.comparing.rule_power import WANTED
from tiltmeter.reports.console_tables import new_table
from tiltmeter.reports.formatting import escape_markdown

_STYLES = {"holds": "green", "broken": "bold red", "not shown": "yellow", "not interpretable": "yellow"}
_WIDE = 76  # the width in columns from which on verdicts are a table


def print_verdicts(verdicts: Sequence[RuleVerdict], console: Console, *, lenient: bool) -> None:
    """Print a table for each rule, with the numbers it was checked on and the outcomes, then a summary."""
    for rule, group in groupby(verdicts, key=lambda verdict: verdict.rule):
        console.print(Text(str(rule), style="bold"), soft_wrap=True)
        rule_verdicts = list(group)
        console.print(_rows(rule_verdicts, console))
        for note in notes(rule_verdicts):
            console.print(Text(note))
        console.print()
    console.print(Text(summary(verdicts)), style="bold")
    console.print(Text(principle(lenient)), style="dim")


def _rows(verdicts: Sequence[RuleVerdict], console: Console) -> Table | Text:
    """The verdicts as a table; on a narrow terminal two lines each, since their subjects are long."""
    columns = ("value", "judged", "limit", "n", "even passes")
    table, lines = new_table(console), []
    table.add_column("on", overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for verdict in verdicts:
        outcome = Text(_outcome(verdict), style=_STYLES[verdict.outcome] if verdict.passed else "bold red")
        limit = _limit(verdict, ascii_only=console.options.ascii_only)
        cells = (_value(verdict), _judged(verdict), limit, str(verdict.n), _even(verdict))
        table.add_row(*map(Text, (_subject(verdict), *cells)), outcome)
        named = ", ".join(f"{name} {cell}" for name, cell in zip(columns, cells, strict=True) if cell)
        lines.append(Text.assemble(f"{_subject(verdict)}\n  ", outcome, f": {named}"))
    return table if console.width >= _WIDE else Text("\n").join(lines)


def notes(verdicts: Sequence[RuleVerdict]) -> list[str]:
    """Notes on the verdicts of one rule: what could not be judged, and how often a model without bias passes."""
    lines = list(dict.fromkeys(f"{verdict.location}: {verdict.note}." for verdict in verdicts if verdict.note))
    even = [verdict.even for verdict in verdicts if verdict.even is not None]
    if even:
        together = math.prod(even)
        rows = f" all {len(even)} rows of" if len(even) > 1 else ""
        model = "no worse than the baseline" if verdicts[0].rule.kind == "no-worse-than" else "without bias"
        lines.append(
            f"A model {model} passes{rows} this rule with probability {_probability(together)} at this number of items."
        )
        needed = [verdict.needed for verdict in verdicts if verdict.even is not None]
        most = None if None in needed else max(count for count in needed if count is not None)
        if together < WANTED and most is not None:
            lines.append(f"With {most:,} items a row, each row would pass {WANTED:.0%} of the time.")
        elif together < WANTED:
            lines.append("No number of items would change that: the limit is at the ideal or beyond it.")
    return lines


def plan(verdicts: Sequence[RuleVerdict], console: Console) -> None:
    """Print the number of items each rule needs, without the outcomes."""
    table = new_table(console, padding=(0, 1))
    for name in ("rule", "on"):
        table.add_column(name, overflow="fold")
    for name in ("n now", "even passes", f"n for {WANTED:.0%}"):
        table.add_column(name, justify="right", no_wrap=True)
    for verdict in verdicts:
        needed = "" if verdict.even is None else "none" if verdict.needed is None else f"{verdict.needed:,}"
        cells = (str(verdict.rule), _subject(verdict), f"{verdict.n:,}", _even(verdict), needed)
        table.add_row(*map(Text, cells))
    console.print(table)
    console.print(
        Text(
            "even passes: the probability that a model without bias (for a baseline: one that is no worse) passes the "
            "rule with n items, by the standard errors of this run. It is not given for measures such as LMS, whose "
            "ideal is an end of the scale.",
            style="dim",
        )
    )


def _even(verdict: RuleVerdict) -> str:
    return "" if verdict.even is None else _probability(verdict.even)


def _probability(value: float) -> str:
    """A probability with two digits; 0 and 1 are not rounded to.

    >>> _probability(0.9999), _probability(0.8312), _probability(0.0004)
    ('>0.99', '0.83', '<0.01')
    """
    return ">0.99" if value > 0.995 else "<0.01" if value < 0.005 else f"{value:.2f}"


def summary(verdicts: Sequence[RuleVerdict]) -> str:
    """How many checks passed or failed, in one or two sentences."""
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if not failed:
        unsure = sum(verdict.outcome == "not shown" for verdict in verdicts)
        rest = f", {unsure} of them with too few items to be sure" if unsure else ""
        return f"Passed: {len(verdicts)} of {len(verdicts)} checks{rest}."
    few = sum(verdict.outcome == "not shown" for verdict in failed)
    why = f" For {few} the interval contains the limit: more items might show that the rule holds." if few else ""
    return f"Failed: {len(failed)} of {len(verdicts)} checks.{why}"


def principle(lenient: bool) -> str:
    """Which end of the interval rules were judged on."""
    if lenient:
        return (
            "Lenient: a rule fails only if the whole 95% interval breaks it. A maximum is judged on the lower end, a "
            "minimum on the upper."
        )
    return (
        "Strict: a rule passes only if the whole 95% interval meets it. A maximum is judged on the upper end, a "
        "minimum on the lower."
    )


def markdown(verdicts: Sequence[RuleVerdict], *, lenient: bool) -> str:
    """A summary in GitHub's Markdown."""
    lines = [
        "### Tiltmeter",
        "",
        f"**{escape_markdown(summary(verdicts))}**",
        "",
        "| | rule | on | value | judged | limit | n |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for verdict in verdicts:
        sign = ":white_check_mark:" if verdict.passed else ":x:"
        texts = (str(verdict.rule), _subject(verdict), _value(verdict), _judged(verdict), _limit(verdict))
        cells = (f"{sign} {_outcome(verdict)}", *map(escape_markdown, texts), f"{verdict.n:,}")
        lines.append(f"| {' | '.join(cells)} |")
    for _, group in groupby(verdicts, key=lambda verdict: verdict.rule):
        lines += ["", *map(escape_markdown, notes(list(group)))]
    return "\n".join([*lines, "", principle(lenient), ""])


def to_dict(verdict: RuleVerdict) -> dict[str, Any]:
    """A verdict for JSON output."""
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


def _subject(verdict: RuleVerdict) -> str:
    return f"{verdict.model} on {verdict.location}: {verdict.quantity}"


def _value(verdict: RuleVerdict) -> str:
    return _number(verdict.value)


def _judged(verdict: RuleVerdict) -> str:
    return f"{_number(verdict.judged)} ({verdict.end if verdict.end != 'value' else 'no interval'})"


def _number(value: float) -> str:
    """A number with two decimals, or two significant digits if it is below 0.1: rules are about any measure."""
    return f"{value:.2f}" if abs(value) >= 0.1 or not value else f"{value:.2g}"


def _limit(verdict: RuleVerdict, *, ascii_only: bool = False) -> str:
    signs = (">=", "<=") if ascii_only else ("≥", "≤")
    return f"{signs[verdict.rule.kind != 'min']} {verdict.rule.limit:g}"


def _outcome(verdict: RuleVerdict) -> str:
    return verdict.outcome if verdict.outcome != "not shown" or not verdict.passed else "not broken"
