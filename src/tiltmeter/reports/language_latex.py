r"""LaTeX tables of a comparison of languages: means and differences; the tables need the package booktabs."""

from tiltmeter.comparing.language_comparison import LanguageAnalysis, LanguageComparison
from tiltmeter.reports.formatting import format_count
from tiltmeter.reports.language_tables import build_differences_table, build_means_table, format_title
from tiltmeter.reports.text_table import TextTable, format_latex_table


def format_language_latex(comparison: LanguageComparison) -> str:
    r"""Return two tables for each analysis as LaTeX; the document needs `\usepackage{booktabs}`."""
    tables = [
        format_latex_table(table, _describe(analysis, table))
        for analysis in comparison.analyses
        for table in (build_means_table(analysis), build_differences_table(analysis))
    ]
    return "\n\n".join(tables) + "\n"


def _describe(analysis: LanguageAnalysis, table: TextTable) -> str:
    models = format_count(len(analysis.models), "model")
    bold = " Bold: significant for these models after Holm's correction." if table.bold else ""
    return f"{table.title}: {format_title(analysis)} ({models}, {analysis.items:,} items).{bold}"
