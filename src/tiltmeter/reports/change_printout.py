"""The output of `tiltmeter compare --before --after`: the answer, the table of results, and notes."""

from collections import Counter
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.model_change import ModelChange
from tiltmeter.reports.change_tables import LEGEND, build_change_table, build_reduced_table
from tiltmeter.reports.formatting import format_count
from tiltmeter.reports.method_texts import describe_factors
from tiltmeter.reports.text_table import print_text_table

_PRINTED_ITEMS = 20  # number of flipped items that `--all` prints for each target


def print_change(change: ModelChange, console: Console, *, everything: bool = False) -> None:
    """Print the answer, the results, flipped items and notes; `everything` adds all results and texts of items."""
    console.print(Text(change.sentence, style="bold"))
    console.print()
    table = build_change_table(change, everything=everything)
    print_text_table(table, console)
    if hidden := len(change.rows) - len(table.rows):
        more = format_count(hidden, "more result")
        console.print(Text(f"--all prints {more} without a significant change.", style="dim"))
    for sentence in describe_flips(change):
        console.print(Text(sentence))
    for overlap in change.overlaps:
        console.print(Text(overlap.sentence))
    if change.without_overlap:
        print_text_table(build_reduced_table(change), console)
    if everything:
        _print_flipped_items(change, console)
    for note in change.notes:
        console.print(Text(note))
    console.print(Text(describe_change_method(change), style="dim"))


def describe_flips(change: ModelChange) -> Iterator[str]:
    """Yield a sentence for each target on the number of items that flipped, and in which direction."""
    for row in change.select_rows("target"):
        counts = Counter(is_towards for _, _, is_towards in row.list_flips())
        yield (
            f"{row.name}: {counts.total():,} of {row.difference.contrast.n:,} items flipped, {counts[True]:,} towards "
            f"and {counts[False]:,} away from the stereotype."
        )


def describe_change_method(change: ModelChange) -> str:
    """Return sentences that explain the columns and how the change was tested."""
    factors = describe_factors(row.difference.quantity for row in change.rows)
    return (
        f"Paired by item{factors}. {LEGEND} flipped: the model now prefers the other text of the item. Quality margin: "
        f"{change.quality_margin:g} (--quality-margin). docs/evidence/before-and-after.md has the error rates."
    )


def _print_flipped_items(change: ModelChange, console: Console) -> None:
    for entry in change.list_flipped_items(_PRINTED_ITEMS).to_dict("records"):
        console.print(Text(f"{entry['item']}  {entry['direction']}  {entry['attributes']}"), soft_wrap=True)
        console.print(Text(f"    {entry['texts']}"), soft_wrap=True)
