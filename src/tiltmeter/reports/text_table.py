"""Tables of texts that are printed in the terminal, drawn on a page and written as LaTeX."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from tiltmeter.reports.console_tables import print_fitting_table
from tiltmeter.reports.formatting import escape_latex


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts with a title; `bold` are the indexes of rows with a significant result.

    The first `labels` columns are row labels. `optional` are the headings of columns that a narrow terminal leaves out,
    in this order.
    """

    title: str
    heads: tuple[str, ...]
    rows: list[list[str]]
    bold: frozenset[int] = frozenset()
    labels: int = 1
    optional: tuple[str, ...] = ()


def print_text_table(table: TextTable, console: Console, *, titled: bool = True) -> None:
    """Print a table with its title, so that it fits the terminal."""
    if titled:
        console.print(Text(table.title, style="italic"))
    print_fitting_table(console, table.heads, table.rows, labels=table.labels, optional=table.optional, bold=table.bold)


def format_latex_table(table: TextTable, caption: str) -> str:
    """Return a table as LaTeX without empty columns; the document needs the package booktabs."""
    return "\n".join(_format_lines(table, caption))


def _format_lines(table: TextTable, caption: str) -> Iterator[str]:
    columns = [at for at in range(len(table.heads)) if at < table.labels or any(row[at] for row in table.rows)]
    yield r"\begin{table}"
    yield r"\centering"
    yield rf"\begin{{tabular}}{{{'l' * table.labels}{'r' * (len(columns) - table.labels)}}}"
    yield r"\toprule"
    yield _format_row([table.heads[at] for at in columns], bold=False)
    yield r"\midrule"
    for number, row in enumerate(table.rows):
        yield _format_row([row[at] for at in columns], bold=number in table.bold)
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield rf"\caption{{{_escape(caption)}}}"
    yield r"\end{table}"


def _format_row(cells: list[str], *, bold: bool) -> str:
    escaped = [_escape(cell) for cell in cells]
    return " & ".join(rf"\textbf{{{cell}}}" if bold and cell else cell for cell in escaped) + r" \\"


def _escape(text: str) -> str:
    return escape_latex(text).replace("−", "$-$").replace("→", r"$\rightarrow$")
