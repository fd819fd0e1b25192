"""The HTML page and the figures of `tiltmeter compare --languages`."""

from dataclasses import replace

from tiltmeter.comparing.language_comparison import LanguageComparison
from tiltmeter.reports.contrast_page import build_section, build_table_section, list_table_rows, render_page, render_svg
from tiltmeter.reports.display_text import format_label
from tiltmeter.reports.figure_names import build_slug, choose_unique_slug, format_benchmark_name
from tiltmeter.reports.figures import Figure
from tiltmeter.reports.figures.language_map import build_language_map
from tiltmeter.reports.language_printout import describe_analysis, describe_language_method
from tiltmeter.reports.language_tables import (
    build_means_table,
    build_measures_table,
    build_overview_table,
    format_title,
    list_detail_tables,
)


def render_language_page(comparison: LanguageComparison) -> str:
    """Return the HTML page of a comparison of languages; the first section is the answer."""
    sections = [build_section("Answer", comparison.answers)]
    if len(comparison.analyses) > 1:
        sections.append(build_table_section(build_overview_table(comparison)))
    for (_, figure), analysis in zip(build_language_figures(comparison), comparison.analyses, strict=True):
        means = build_means_table(analysis)
        section = build_section(figure.title, describe_analysis(analysis), means.heads, list_table_rows(means))
        sections.append(replace(section, figure=render_svg(figure), caption=figure.caption))
        sections += [build_table_section(table, f" ({figure.title})") for table in list_detail_tables(analysis)]
    if (table := build_measures_table(comparison)).rows:
        sections.append(build_table_section(table))
    return render_page(
        "How different are the languages?", sections, comparison.notes, describe_language_method(comparison)
    )


def build_language_figures(comparison: LanguageComparison) -> list[tuple[str, Figure]]:
    """Return a list of (name of the benchmark, figure), one for each analysis; `save_figures` needs this list."""
    slugs: set[str] = set()
    figures = []
    for analysis in comparison.analyses:
        words = [analysis.part if analysis.part != "all" else "", analysis.quantity.name, "by language"]
        slug = choose_unique_slug(build_slug(words), slugs)
        figure = build_language_map(slug, format_label(format_title(analysis), 120), analysis)
        figures.append((format_benchmark_name(analysis.benchmark), figure))
    return figures
