"""The report: one self-contained HTML file that loads nothing and may run only its own scripts."""

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

import vl_convert
from markupsafe import Markup

import tiltmeter
from tiltmeter.reports.figures import Figure
from tiltmeter.reports.gather import gather
from tiltmeter.reports.page import benchmark_sections, models_of, packed_figures
from tiltmeter.reports.sections import ReportContent, render_sections
from tiltmeter.reports.templating import page_template, template_file
from tiltmeter.runs.result import Result

# Vega's expressions are interpreted, so that the page's policy need not allow `unsafe-eval`.
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def make_report(results: Sequence[tuple[str, Result]]) -> tuple[str, list[tuple[str, Figure]]]:
    """The report on named runs, and its figures, each with the name of its benchmark in file names."""
    gathered = gather(results)
    benchmarks = benchmark_sections(gathered)
    style = template_file("report.css")
    scripts = [_vega(), template_file("figures.js"), template_file("explorer.js")]
    html = page_template("report.html.jinja").render(
        policy=content_policy(style, scripts),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        charts=Markup(packed_figures(benchmarks)),
        benchmarks=benchmarks,
        sections=render_sections(ReportContent(results, gathered, benchmarks)),
        models=models_of(gathered.records),
        made=datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        version=tiltmeter.__version__,
        vega=vl_convert.get_vega_version(),
    )
    figures = [(section.slug, drawn.figure) for section in benchmarks for drawn in section.figures]
    return html, figures


def content_policy(style: str, scripts: Sequence[str]) -> str:
    """A Content-Security-Policy that allows these scripts and this style sheet by hash, and loads nothing."""
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'sha256-{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _vega() -> str:
    script: str = vl_convert.javascript_bundle(_SNIPPET)
    # Browsers turn CRLF into LF before hashing, and end the element at an end tag inside a string.
    return script.replace("\r\n", "\n").replace("</script", "<\\/script")
