"""The report: one HTML file that loads no other files and allows only its own scripts."""

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

import vl_convert
from markupsafe import Markup

import tiltmeter
from tiltmeter.reports.benchmark_sections import build_sections, list_models, pack_figures
from tiltmeter.reports.combined_runs import combine_runs
from tiltmeter.reports.figures import Figure
from tiltmeter.reports.page_templates import load_template, read_template_file
from tiltmeter.reports.reference_strips import build_reference_headlines
from tiltmeter.reports.report_answer import build_answer
from tiltmeter.reports.sections import ReportContent, render_sections
from tiltmeter.reports.vega_bundle import load_vega_bundle
from tiltmeter.runs.result import Result


def make_report(results: Sequence[tuple[str, Result]]) -> tuple[str, list[tuple[str, Figure]]]:
    """Return the report as HTML, and a list of (slug of the benchmark, figure); the slug is used in file names.

    `results` are pairs (name of the run, result).
    """
    combined = combine_runs(results)
    benchmarks = build_sections(combined)
    style = read_template_file("report.css")
    scripts = [load_vega_bundle(), read_template_file("figures.js"), read_template_file("explorer.js")]
    html = load_template("report.html.jinja").render(
        policy=build_content_policy(style, scripts),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        charts=Markup(pack_figures(benchmarks)),
        answer=build_answer(benchmarks),
        benchmarks=benchmarks,
        references=build_reference_headlines(results, combined.benchmarks),
        sections=render_sections(ReportContent(results, combined, benchmarks)),
        models=list_models(combined.records),
        made=datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        version=tiltmeter.__version__,
        vega=vl_convert.get_vega_version(),
    )
    figures = [(section.slug, compiled.figure) for section in benchmarks for compiled in section.figures]
    return html, figures


def build_content_policy(style: str, scripts: Sequence[str]) -> str:
    """Return a Content-Security-Policy that allows only these scripts and this style sheet, by their SHA-256 hashes."""
    allowed = " ".join(f"'sha256-{_compute_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'sha256-{_compute_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _compute_digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
