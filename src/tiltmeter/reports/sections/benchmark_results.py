"""The report sections with the results of each benchmark: summary, controls, figures and all numbers."""

from collections.abc import Iterator

from markupsafe import Markup

from tiltmeter.reports.controls import describe_contrast, describe_location, format_excess
from tiltmeter.reports.figures.target_forest import SINGLE_TERMS
from tiltmeter.reports.formatting import format_four_digits, format_interval, format_p, format_with_interval
from tiltmeter.reports.group_names import get_display_group
from tiltmeter.reports.page_templates import load_template
from tiltmeter.reports.sections.report_section import RenderedSection, ReportContent, ReportSection

_SYMBOLS = {
    "circle": "M6 1a5 5 0 1 1 0 10a5 5 0 1 1 0-10z",
    "square": "M1.5 1.5h9v9h-9z",
    "triangle-up": "M6 1l5.2 9.5h-10.4z",
    "diamond": "M6 .5l5 5.5l-5 5.5l-5-5.5z",
    "cross": "M4.3 1h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
    "triangle-down": "M6 11l5.2-9.5h-10.4z",
    "triangle-right": "M11 6l-9.5 5.2v-10.4z",
    "triangle-left": "M1 6l9.5 5.2v-10.4z",
}


def render(content: ReportContent) -> Iterator[RenderedSection]:
    """Yield a section for each benchmark."""
    for section in content.benchmarks:
        open_figures = [drawn for drawn in section.figures if not drawn.figure.folded]
        html = load_template("benchmark.html.jinja").render(
            section=section,
            # With several benchmarks, all summaries and first figures must be found without much scrolling.
            open_figures=open_figures if len(content.benchmarks) == 1 else open_figures[:1],
            single_terms=SINGLE_TERMS,
            symbols=_SYMBOLS,
            shown_group=get_display_group,
            format_p=format_p,
            four_digits=format_four_digits,
            format_interval=format_interval,
            format_with_interval=format_with_interval,
            format_excess=format_excess,
            describe_location=describe_location,
            describe_contrast=describe_contrast,
        )
        yield RenderedSection(section.slug, section.name, Markup(html + "\n"))


SECTION = ReportSection("benchmarks", render, order=10)
