r"""LaTeX, HTML and Markdown tables in the layout of a paper; LaTeX needs the packages booktabs and graphicx."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tiltmeter.reports.formatting import escape_latex, escape_markdown
from tiltmeter.reports.layouts.laid_out_table import LaidOutCell, LaidOutTable, list_notes
from tiltmeter.reports.page_templates import load_template
from tiltmeter.reports.wide_latex import FITTED_LATEX

_LATEX_SIGNS = {"—": "---", "±": r"$\pm$", "-": "$-$"}


def format_layout_latex(tables: Sequence[LaidOutTable]) -> str:
    r"""Return the tables as LaTeX; the document needs `\usepackage{booktabs,graphicx}`."""
    return "\n\n".join("\n".join(_format_latex_lines(table)) for table in tables)


def format_layout_html(tables: Sequence[LaidOutTable]) -> str:
    """Return the tables as HTML elements, which can be inserted into a page."""
    return load_template("layout.html.jinja").render(tables=tables, notes=list_notes(tables)).strip()


def format_layout_markdown(tables: Sequence[LaidOutTable]) -> str:
    """Return the tables as Markdown; the headings of a column are joined."""
    texts = ("\n".join(_format_markdown_lines(table)) for table in tables)
    return "\n\n".join([*texts, *map(escape_markdown, list_notes(tables))])


def _format_latex_lines(table: LaidOutTable) -> Iterator[str]:
    labels, columns = len(table.heads), len(table.columns)
    yield r"\begin{table*}"
    yield r"\centering"
    yield rf"{FITTED_LATEX}{{\begin{{tabular}}{{{'l' * labels}{'r' * columns}}}"
    yield r"\toprule"
    yield from _format_latex_headings(table)
    for block in table.blocks:
        yield r"\midrule"
        if block.heading:
            yield rf"\multicolumn{{{labels + columns}}}{{l}}{{\emph{{{escape_latex(block.heading)}}}}} \\"
        for row in block.rows:
            yield " & ".join([*map(escape_latex, row.labels), *map(_format_latex_cell, row.cells)]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}}"
    yield rf"\caption{{{escape_latex(' '.join(filter(None, (f'{table.title}.', table.bold_note))))}}}"
    yield r"\end{table*}"
    if table.row_note:
        yield f"% {table.row_note}"


def _format_latex_headings(table: LaidOutTable) -> Iterator[str]:
    levels = len(table.columns[0])
    for level in range(levels - 1):
        groups = table.group_headings(level)
        heads = (rf"\multicolumn{{{count}}}{{c}}{{{escape_latex(name)}}}" for name, count in groups)
        yield " & ".join([*("" for _ in table.heads), *heads]) + r" \\"
        rules, start = [], len(table.heads) + 1
        for _, count in groups:
            rules.append(rf"\cmidrule(lr){{{start}-{start + count - 1}}}")
            start += count
        yield " ".join(rules)
    yield " & ".join(escape_latex(text) for text in (*table.heads, *(column[-1] for column in table.columns))) + r" \\"


def _format_latex_cell(cell: LaidOutCell) -> str:
    text = "".join(_LATEX_SIGNS.get(character, character) for character in cell.text)
    return rf"\textbf{{{text}}}" if cell.bold else text


def _format_markdown_lines(table: LaidOutTable) -> Iterator[str]:
    yield f"**{escape_markdown(table.title)}**"
    yield ""
    heads = [*table.heads, *(" ".join(column) for column in table.columns)]
    yield _join_markdown(map(escape_markdown, heads))
    yield _join_markdown(["---"] * len(table.heads) + ["---:"] * len(table.columns))
    for block in table.blocks:
        if block.heading:
            yield _join_markdown([f"*{escape_markdown(block.heading)}*", *("" for _ in heads[1:])])
        for row in block.rows:
            cells = (f"**{cell.text}**" if cell.bold else cell.text for cell in row.cells)
            yield _join_markdown([*map(escape_markdown, row.labels), *cells])


def _join_markdown(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


# The functions for the options --latex, --html and --markdown.
MARKUP: Mapping[str, Callable[[Sequence[LaidOutTable]], str]] = {
    "latex": format_layout_latex,
    "html": format_layout_html,
    "markdown": format_layout_markdown,
}
