"""What `tiltmeter check` prints, and the same in GitHub's Markdown for the logs of a pipeline."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiltmeter.checks import Verdict

_ASCII_BOX = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
_STYLES = {"holds": "green", "broken": "bold red", "not shown": "yellow"}


def print_verdicts(verdicts: Sequence[Verdict], console: Console, *, lenient: bool) -> None:
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
        for name in ("value", "judged", "limit", "n"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for verdict in some:
            outcome = Text(_outcome(verdict), style=_STYLES[verdict.outcome] if verdict.passed else "bold red")
            limit = _limit(verdict, plain=console.options.ascii_only)
            cells = (_on(verdict), _value(verdict), _judged(verdict), limit, str(verdict.n))
            table.add_row(*map(Text, cells), outcome)
        console.print(table)
        console.print()
    console.print(Text(summary(verdicts)), style="bold")
    console.print(Text(principle(lenient)), style="dim")


def summary(verdicts: Sequence[Verdict]) -> str:
    """The end of it in a sentence."""
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if not failed:
        unsure = sum(verdict.outcome == "not shown" for verdict in verdicts)
        rest = f", {unsure} of them with too few items to be sure" if unsure else ""
        return f"Passed: {len(verdicts)} of {len(verdicts)} hold{rest}."
    few = sum(verdict.outcome == "not shown" for verdict in failed)
    why = f" For {few} the interval reaches over the limit: more items might show that the rule holds." if few else ""
    return f"Failed: {len(failed)} of {len(verdicts)} do not hold.{why}"


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


def markdown(verdicts: Sequence[Verdict], *, lenient: bool) -> str:
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
    return "\n".join([*lines, "", principle(lenient), ""])


def to_dict(verdict: Verdict) -> dict[str, Any]:
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
    }


def _on(verdict: Verdict) -> str:
    return f"{verdict.model} on {verdict.place}: {verdict.of}"


def _value(verdict: Verdict) -> str:
    return _number(verdict.value)


def _judged(verdict: Verdict) -> str:
    return f"{_number(verdict.judged)} ({verdict.end if verdict.end != 'value' else 'no interval'})"


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 0.1 or not value else f"{value:.2g}"


def _limit(verdict: Verdict, *, plain: bool = False) -> str:
    signs = (">=", "<=") if plain else ("≥", "≤")
    return f"{signs[verdict.rule.kind != 'min']} {verdict.rule.limit:g}"


def _outcome(verdict: Verdict) -> str:
    return verdict.outcome if verdict.outcome != "not shown" or not verdict.passed else "not broken"


def _escaped(text: str) -> str:
    """Text that is text in a cell of a table, whatever a model or a group is called."""
    for character in "\\`*_[]<>|":
        text = text.replace(
            character, f"\\{character}" if character not in "<>" else {"<": "&lt;", ">": "&gt;"}[character]
        )
    return " ".join(text.split())
