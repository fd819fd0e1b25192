"""What `tiltmeter check` prints, and the same in GitHub's Markdown for the logs of a pipeline."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.comparing import RuleVerdict
from tiltmeter.comparing.rule_power import WANTED

_ASCII_BOX = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
_STYLES = {"holds": "green", "broken": "bold red", "not shown": "yellow", "not interpretable": "yellow"}


def print_verdicts(verdicts: Sequence[RuleVerdict], console: Console, *, lenient: bool) -> None:
    """Print what each rule was judged on, and how it came out."""
    for rule, some in groupby(verdicts, key=lambda verdict: verdict.rule):
        console.print(Text(str(rule), style="bold"), soft_wrap=True)
        table = Table(
            box=_ASCII_BOX if console.options.ascii_only else box.SIMPLE_HEAD,
            pad_edge=False,
            show_edge=False,
            padding=(0, 1, 0, 0),
        )
        table.add_column("on", overflow="fold")
        for name in ("value", "judged", "limit", "n", "even passes"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        of_rule = list(some)
        for verdict in of_rule:
            outcome = Text(_outcome(verdict), style=_STYLES[verdict.outcome] if verdict.passed else "bold red")
            limit = _limit(verdict, plain=console.options.ascii_only)
            cells = (_on(verdict), _value(verdict), _judged(verdict), limit, str(verdict.n), _even(verdict))
            table.add_row(*map(Text, cells), outcome)
        console.print(table)
        for note in notes(of_rule):
            console.print(Text(note))
        console.print()
    console.print(Text(summary(verdicts)), style="bold")
    console.print(Text(principle(lenient)), style="dim")


def notes(verdicts: Sequence[RuleVerdict]) -> list[str]:
    """What a reader should know of the verdicts on one rule: what an even model can pass, and what could not be
    judged.
    """
    found = list(dict.fromkeys(f"{verdict.place}: {verdict.note}." for verdict in verdicts if verdict.note))
    even = [verdict.even for verdict in verdicts if verdict.even is not None]
    if even:
        together = math.prod(even)
        rows = f" all {len(even)} rows of" if len(even) > 1 else ""
        what = "no worse than the baseline" if verdicts[0].rule.kind == "no-worse-than" else "without bias"
        found.append(f"A model {what} passes{rows} this rule with probability {_share(together)} on so many items.")
        needed = [verdict.needed for verdict in verdicts if verdict.even is not None]
        most = None if None in needed else max(count for count in needed if count is not None)
        if together < WANTED and most is not None:
            found.append(f"With {most:,} items a row, each row would pass {WANTED:.0%} of the time.")
        elif together < WANTED:
            found.append("No number of items would change that: the limit leaves no room around the ideal.")
    return found


def plan(verdicts: Sequence[RuleVerdict], console: Console) -> None:
    """Print how many items each rule needs, instead of how it came out."""
    table = Table(box=_ASCII_BOX if console.options.ascii_only else box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("rule", "on"):
        table.add_column(name, overflow="fold")
    for name in ("n now", "even passes", f"n for {WANTED:.0%}"):
        table.add_column(name, justify="right", no_wrap=True)
    for verdict in verdicts:
        needed = "" if verdict.even is None else "none" if verdict.needed is None else f"{verdict.needed:,}"
        cells = (str(verdict.rule), _on(verdict), f"{verdict.n:,}", _even(verdict), needed)
        table.add_row(*map(Text, cells))
    console.print(table)
    console.print(
        Text(
            "even passes: how often a model without bias (for a baseline: one that is no worse) passes the rule on "
            "so many items, by the standard errors of this run. A rule about LMS or another measure without two "
            "sides has none.",
            style="dim",
        )
    )


def _even(verdict: RuleVerdict) -> str:
    return "" if verdict.even is None else _share(verdict.even)


def _share(share: float) -> str:
    """A probability with two digits, 0 and 1 kept for what is certain.

    >>> _share(0.9999), _share(0.8312), _share(0.0004)
    ('>0.99', '0.83', '<0.01')
    """
    return ">0.99" if share > 0.995 else "<0.01" if share < 0.005 else f"{share:.2f}"


def summary(verdicts: Sequence[RuleVerdict]) -> str:
    """The end of it in a sentence."""
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if not failed:
        unsure = sum(verdict.outcome == "not shown" for verdict in verdicts)
        rest = f", {unsure} of them with too few items to be sure" if unsure else ""
        return f"Passed: {len(verdicts)} of {len(verdicts)} checks{rest}."
    few = sum(verdict.outcome == "not shown" for verdict in failed)
    why = f" For {few} the interval reaches over the limit: more items might show that the rule holds." if few else ""
    return f"Failed: {len(failed)} of {len(verdicts)} checks.{why}"


def principle(lenient: bool) -> str:
    """By which end of the interval rules were judged."""
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
        f"**{_escaped(summary(verdicts))}**",
        "",
        "| | rule | on | value | judged | limit | n |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for verdict in verdicts:
        sign = ":white_check_mark:" if verdict.passed else ":x:"
        cells = (
            f"{sign} {_outcome(verdict)}",
            *map(_escaped, (str(verdict.rule), _on(verdict), _value(verdict), _judged(verdict), _limit(verdict))),
            f"{verdict.n:,}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    for _, some in groupby(verdicts, key=lambda verdict: verdict.rule):
        lines += ["", *map(_escaped, notes(list(some)))]
    return "\n".join([*lines, "", principle(lenient), ""])


def to_dict(verdict: RuleVerdict) -> dict[str, Any]:
    """A verdict as JSON has it."""
    return {
        "rule": str(verdict.rule),
        "model": verdict.model,
        "place": verdict.place,
        "of": verdict.of,
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


def _on(verdict: RuleVerdict) -> str:
    return f"{verdict.model} on {verdict.place}: {verdict.of}"


def _value(verdict: RuleVerdict) -> str:
    return _number(verdict.value)


def _judged(verdict: RuleVerdict) -> str:
    return f"{_number(verdict.judged)} ({verdict.end if verdict.end != 'value' else 'no interval'})"


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 0.1 or not value else f"{value:.2g}"


def _limit(verdict: RuleVerdict, *, plain: bool = False) -> str:
    signs = (">=", "<=") if plain else ("≥", "≤")
    return f"{signs[verdict.rule.kind != 'min']} {verdict.rule.limit:g}"


def _outcome(verdict: RuleVerdict) -> str:
    return verdict.outcome if verdict.outcome != "not shown" or not verdict.passed else "not broken"


def _escaped(text: str) -> str:
    """Text that is text in a cell of a table, whatever a model or a group is called."""
    for character in "\\`*_[]<>|":
        text = text.replace(
            character, f"\\{character}" if character not in "<>" else {"<": "&lt;", ">": "&gt;"}[character]
        )
    return " ".join(text.split())
