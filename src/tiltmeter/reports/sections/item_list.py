"""The report section that lists the items with their texts and scores."""

from collections.abc import Iterator

from markupsafe import Markup

from tiltmeter.reports.item_explorer import build_explorer
from tiltmeter.reports.item_texts import load_item_texts
from tiltmeter.reports.page_templates import load_template
from tiltmeter.reports.sections.report_section import RenderedSection, ReportContent, ReportSection


def render(content: ReportContent) -> Iterator[RenderedSection]:
    """Yield the section; yield nothing if there are no items to list."""
    combined = content.gathered
    texts, missing = load_item_texts((result for _, result in content.runs), combined.benchmarks)
    explorer = build_explorer(combined.scores, texts, combined.answers, combined.tokens, modules=combined.modules)
    if explorer is not None:
        html = load_template("items.html.jinja").render(explorer=explorer, missing=missing)
        data = '<script type="application/octet-stream" id="packed">{}</script>\n'
        yield RenderedSection("items", "Items", Markup(html), Markup(data).format(explorer.packed))


SECTION = ReportSection("items", render, order=50)
