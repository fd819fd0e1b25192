"""The terminal output of `tiltmeter compare --with`: the answer, then a table for each position."""

from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.reference_position import Position, ReferenceComparison
from tiltmeter.reports.formatting import format_count
from tiltmeter.reports.reference_texts import (
    build_position_table,
    describe_reference_method,
    list_answers,
    list_details,
    list_leading_positions,
)
from tiltmeter.reports.text_table import print_text_table


def print_references(comparison: ReferenceComparison, console: Console, *, everything: bool = False) -> None:
    """Print the answers, and the tables of their positions; with `everything`, the tables of all positions."""
    for answer in list_answers(comparison):
        console.print(Text(answer, style="bold"))
    console.print()
    printed = comparison.positions if everything else list_leading_positions(comparison.positions)
    for position in printed:
        _print_position(position, console)
    for note in comparison.notes:
        console.print(Text(note))
    if len(printed) < len(comparison.positions):
        more = format_count(len(comparison.positions) - len(printed), "more position")
        console.print(Text(f"--all prints {more}."))
    console.print(Text(describe_reference_method(comparison), style="dim"))


def _print_position(position: Position, console: Console) -> None:
    if position.standings:
        print_text_table(build_position_table(position), console)
    for sentence in list_details(position):
        console.print(Text(sentence))
    console.print()
