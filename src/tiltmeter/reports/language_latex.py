r"""LaTeX tables of a comparison of languages: means and differences; the tables need the package booktabs."""

from collections.abc import Iterator

from tiltmeter.comparing.language_comparison import LanguageAnalysis, LanguageComparison
from tiltmeter.reports.formatting import escape_latex, format_count
from tiltmeter.reports.language_tables import TextTable, build_differences_table, build_means_table, format_title


def format_language_latex(comparison: LanguageComparison) -> str:
    r"""Return two tables for each analysis as LaTeX; the document needs `\usepackage{booktabs}`."""
    tables = [
        "\n".join(_format_lines(analysis, table))
        for analysis in comparison.analyses
        for table in (build_means_table(analysis), build_differences_table(analysis))
    ]
    return "\n\n".join(tables) + "\n"


def _format_lines(analysis: LanguageAnalysis, table: TextTable) -> Iterator[str]:
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
    yield rf"\caption{{{escape_latex(_describe(analysis, table))}}}"
    yield r"\end{table}"


def _format_row(cells: list[str], *, bold: bool) -> str:
    escaped = [escape_latex(cell).replace("−", "$-$") for cell in cells]
    return " & ".join(rf"\textbf{{{cell}}}" if bold and cell else cell for cell in escaped) + r" \\"


def _describe(analysis: LanguageAnalysis, table: TextTable) -> str:
    models = format_count(len(analysis.models), "model")
    bold = " Bold: significant for these models after Holm's correction." if table.bold else ""
    return f"{table.title}: {format_title(analysis)} ({models}, {analysis.items:,} items).{bold}"
