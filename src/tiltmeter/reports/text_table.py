"""Tables of texts with a title, for the terminal, HTML pages and LaTeX."""

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
    """Print a table, by default below its title."""
    if titled:
        console.print(Text(table.title, style="italic"))
    print_fitting_table(console, table.heads, table.rows, labels=table.labels, optional=table.optional, bold=table.bold)


def format_latex_table(table: TextTable, caption: str) -> str:
    r"""Return a table as LaTeX; the document needs `\usepackage{booktabs}`. Empty columns are left out."""
    return "\n".join(_format_lines(table, caption))


def _format_lines(table: TextTable, caption: str) -> Iterator[str]:
    shown = [at for at in range(len(table.heads)) if at < table.labels or any(row[at] for row in table.rows)]
    yield r"\begin{table}"
    yield r"\centering"
    yield rf"\begin{{tabular}}{{l{'r' * (len(shown) - 1)}}}"
    yield r"\toprule"
    yield _format_row([table.heads[at] for at in shown], bold=False)
    yield r"\midrule"
    for number, row in enumerate(table.rows):
        yield _format_row([row[at] for at in shown], bold=number in table.bold)
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield rf"\caption{{{escape_latex(caption)}}}"
    yield r"\end{table}"


def _format_row(cells: list[str], *, bold: bool) -> str:
    escaped = [escape_latex(cell).replace("−", "$-$") for cell in cells]
    return " & ".join(rf"\textbf{{{cell}}}" if bold and cell else cell for cell in escaped) + r" \\"
