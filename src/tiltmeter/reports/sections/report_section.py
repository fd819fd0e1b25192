"""The declaration of a section of the report, and the content from which it is rendered."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from tiltmeter.reports.benchmark_sections import BenchmarkSection
from tiltmeter.reports.combined_runs import CombinedRuns
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class ReportContent:
    """The content of a report: the named runs, their combined tables, and the results of each benchmark."""

    runs: Sequence[tuple[str, Result]]
    gathered: CombinedRuns
    benchmarks: Sequence[BenchmarkSection]


@dataclass(frozen=True, slots=True)
class RenderedSection:
    """A section as HTML, with its id and its title in the navigation.

    `data` is placed at the end of the page, for elements that a script reads. The page runs only its own scripts.
    """

    slug: str
    title: str
    html: Markup
    data: Markup | str = ""

    @classmethod
    def with_message(cls, name: str, message: str) -> "RenderedSection":
        """Return a section that contains only a message."""
        slug = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
        html = Markup('<section id="{}">\n<h2>{}</h2>\n<p class="note">{}</p>\n</section>\n')
        return cls(slug, name, html.format(slug, escape(name), escape(message)))


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the report.

    `render` yields its parts, or nothing. Sections are sorted by `order`, then by name: benchmarks have order 10, items
    50, and the method 90.
    """

    name: str
    render: Callable[[ReportContent], Iterable[RenderedSection]]
    order: int = 70
