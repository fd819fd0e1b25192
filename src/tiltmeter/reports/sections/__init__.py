"""Sections of the report: each is an object `SECTION` in a module, or an entry point in `tiltmeter.report_sections`."""

from functools import cache

from tiltmeter.registry import find_package_objects, load_components
from tiltmeter.reports.plugin_failures import describe_failure
from tiltmeter.reports.sections.report_section import RenderedSection, ReportContent, ReportSection

__all__ = ["RenderedSection", "ReportContent", "ReportSection", "list_sections", "render_sections"]


@cache
def list_sections() -> tuple[ReportSection, ...]:
    """Return all sections, built-in and from plug-ins, in the order in which a report shows them."""
    builtin = find_package_objects(__name__, "SECTION")
    found = load_components("report_sections", builtin, ReportSection, lambda section: section.name)
    return tuple(sorted(found.values(), key=lambda section: (section.order, section.name)))


def render_sections(content: ReportContent) -> list[RenderedSection]:
    """Return the sections of a report; if the section of a plug-in fails, a message replaces the section."""
    rendered: list[RenderedSection] = []
    for section in list_sections():
        try:
            rendered += section.render(content)
        except Exception as error:  # a plug-in may raise any exception
            message = describe_failure(f"section {section.name!r}", section.render, error)
            rendered.append(RenderedSection.create_with_message(section.name, message))
    return rendered
