"""The classes for declaring a section of the report, and for the content from which a section is rendered."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from tiltmeter.reports.benchmark_sections import BenchmarkSection
from tiltmeter.reports.combined_runs import CombinedRuns
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class ReportContent:
    """The content of a report: the named runs, the combined tables of the runs, and the results of each benchmark."""

    runs: Sequence[tuple[str, Result]]
    gathered: CombinedRuns
    benchmarks: Sequence[BenchmarkSection]


@dataclass(frozen=True, slots=True)
class RenderedSection:
    """A section as HTML. `slug` is its id, and `title` is its title in the navigation.

    `data` is HTML for the end of the page, with data that a script of the page reads. The page executes only its
    built-in scripts, so scripts in `html` or `data` are not executed.
    """

    slug: str
    title: str
    html: Markup
    data: Markup | str = ""

    @classmethod
    def create_with_message(cls, name: str, message: str) -> "RenderedSection":
        """Return a section with the heading `name` that contains only a message."""
        slug = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
        html = Markup('<section id="{}">\n<h2>{}</h2>\n<p class="note">{}</p>\n</section>\n')
        return cls(slug, name, html.format(slug, escape(name), escape(message)))


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the report.

    `render` yields any number of rendered sections. Sections are sorted by `order`, then by name. The built-in sections
    have the orders 10 (benchmarks), 50 (items) and 90 (method).
    """

    name: str
    render: Callable[[ReportContent], Iterable[RenderedSection]]
    order: int = 70
