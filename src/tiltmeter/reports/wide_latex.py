r"""LaTeX tables of several runs, with groups of columns; the tables need the packages booktabs and graphicx."""

from collections.abc import Iterator, Sequence

from tiltmeter.measures import get_measure
from tiltmeter.measures.verdict import UNRELIABLE_KINDS
from tiltmeter.reports.formatting import escape_latex, format_interval
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.wide_table import BOLD_RULE, WideColumn, WideRow, WideTable

# This command scales a table down if the table is wider than the text.
FITTED_LATEX = r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}"
_MARKS: dict[str, str] = dict(zip(UNRELIABLE_KINDS, (r"$^\dagger$", r"$^\ddagger$"), strict=True))


def format_wide_latex(tables: Sequence[WideTable]) -> str:
    r"""Return the tables as LaTeX; the document needs `\usepackage{booktabs,graphicx}`."""
    return "\n\n".join("\n".join(_format_lines(table)) for table in tables)


def _format_lines(table: WideTable) -> Iterator[str]:
    groups = table.groups
    yield r"\begin{table*}"
    yield r"\centering"
    yield rf"{FITTED_LATEX}{{\begin{{tabular}}{{l{'r' * len(table.columns)}}}"
    yield r"\toprule"
    heads = (rf"\multicolumn{{{len(columns)}}}{{c}}{{{_format_group_head(table, name)}}}" for name, columns in groups)
    yield " & ".join(["", *heads]) + r" \\"
    start = 2
    rules = []
    for _, columns in groups:
        rules.append(rf"\cmidrule(lr){{{start}-{start + len(columns) - 1}}}")
        start += len(columns)
    yield " ".join(rules)
    second = (_format_column_head(table, column) for _, columns in groups for column in columns)
    yield " & ".join(["model", *second]) + r" \\"
    for block in table.blocks:
        yield r"\midrule"
        if len(table.blocks) > 1:
            yield rf"\multicolumn{{{len(table.columns) + 1}}}{{l}}{{\emph{{{escape_latex(block.conditions)}}}}} \\"
        for row in block.rows:
            yield (
                " & ".join([escape_latex(row.model), *(_format_number(row, column) for column in table.columns)])
                + r" \\"
            )
            yield " & ".join(["", *(_format_interval(row, column) for column in table.columns)]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}}"
    yield rf"\caption{{{_format_caption(table)}}}"
    yield r"\end{table*}"


def _format_group_head(table: WideTable, name: str) -> str:
    return escape_latex(get_language_name(name) if table.grouping == "language" else name)


def _format_column_head(table: WideTable, column: WideColumn) -> str:
    return escape_latex(column.get_headings(table.grouping)[1])


def _format_number(row: WideRow, column: WideColumn) -> str:
    record = row.numbers.get(column)
    if record is None:
        return "--"
    text = get_measure(record.measure).number(record.value)
    number = rf"\textbf{{{text.replace('-', '$-$')}}}" if column in row.best else f"${text}$"
    return number + _MARKS.get(row.get_unreliable_verdict(column), "")


def _format_interval(row: WideRow, column: WideColumn) -> str:
    record = row.numbers.get(column)
    return "" if record is None else format_interval(record, r"{{\scriptsize $[{}, {}]$}}")


def _format_caption(table: WideTable) -> str:
    conditions = f", {table.blocks[0].conditions}" if len(table.blocks) == 1 else ""
    parts = [escape_latex(f"{table.title}{conditions}, with 95% intervals, {table.counts}.")]
    parts.append(f"Bold: {escape_latex(BOLD_RULE)}")
    parts += [f"{_MARKS[verdict]}: {verdict}." for verdict in table.unreliable_verdicts]
    return " ".join(parts)
