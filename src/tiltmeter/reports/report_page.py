"""The report: one self-contained HTML file that loads nothing and may run only its own scripts."""

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

import vl_convert
from markupsafe import Markup

import tiltmeter
from tiltmeter.reports import provenance
from tiltmeter.reports.combined_runs import combine_runs
from tiltmeter.reports.explorer import build_explorer
from tiltmeter.reports.figures import Figure
from tiltmeter.reports.figures.benchmark_figures import SINGLE_TERMS
from tiltmeter.reports.formatting import format_four_digits, format_interval, format_p
from tiltmeter.reports.group_names import get_display_group
from tiltmeter.reports.item_texts import load_item_texts
from tiltmeter.reports.page_templates import load_template, read_template_file
from tiltmeter.reports.report_sections import build_sections, list_models, pack_figures
from tiltmeter.runs.file_digests import describe_changed_files
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import list_sample_notes

# Vega's expressions are interpreted, so that the page's policy need not allow `unsafe-eval`.
_SNIPPET = "window.vegaEmbed = vegaEmbed;"
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


def make_report(results: Sequence[tuple[str, Result]]) -> tuple[str, list[tuple[str, Figure]]]:
    """The report on named runs, and its figures, each with the name of its benchmark in file names."""
    gathered = combine_runs(results)
    sections = build_sections(gathered)
    texts, missing = load_item_texts((result for _, result in results), gathered.benchmarks)
    explorer = build_explorer(gathered.scores, texts, gathered.answers, gathered.tokens)
    style = read_template_file("report.css")
    scripts = [_bundle_vega(), read_template_file("figures.js"), read_template_file("explorer.js")]
    html = load_template("report.html.jinja").render(
        policy=build_content_policy(style, scripts),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        charts=Markup(pack_figures(sections)),
        explorer=explorer,
        missing=missing,
        sections=sections,
        models=list_models(gathered.records),
        runs=[
            {
                "name": name,
                "facts": provenance.list_facts(manifest),
                "files": provenance.list_data_files(manifest),
                "omissions": provenance.list_omissions(manifest),
                "flags": provenance.list_flagged_items(manifest),
                "notes": [*describe_changed_files(result.changed), *provenance.list_notes(manifest)],
                "models": provenance.build_model_table(manifest),
            }
            for (name, manifest), (_, result) in zip(gathered.runs, results, strict=True)
        ],
        data_sets=provenance.describe_data_sets(
            (section.name for section in sections), (manifest for _, manifest in gathered.runs)
        ),
        definitions=provenance.list_definitions(gathered.records),
        samples=list(
            dict.fromkeys(
                s for _, manifest in gathered.runs for s in list_sample_notes(manifest, None, gathered.benchmarks)
            )
        ),
        single_terms=SINGLE_TERMS,
        statistics=gathered.runs[0][1].get("statistics", {}) if gathered.runs else {},
        made=datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        version=tiltmeter.__version__,
        vega=vl_convert.get_vega_version(),
        symbols=_SYMBOLS,
        shown_group=get_display_group,
        format_p=format_p,
        four_digits=format_four_digits,
        format_interval=format_interval,
    )
    figures = [(section.slug, drawn.figure) for section in sections for drawn in section.figures]
    return html, figures


def build_content_policy(style: str, scripts: Sequence[str]) -> str:
    """A Content-Security-Policy that allows these scripts and this style sheet by hash, and loads nothing."""
    allowed = " ".join(f"'sha256-{_compute_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'sha256-{_compute_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _compute_digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _bundle_vega() -> str:
    script: str = vl_convert.javascript_bundle(_SNIPPET)
    # Browsers turn CRLF into LF before hashing, and end the element at an end tag inside a string.
    return script.replace("\r\n", "\n").replace("</script", "<\\/script")
