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
from tiltmeter.reports.explorer import explore
from tiltmeter.reports.figures import Figure
from tiltmeter.reports.figures.of_benchmark import SINGLE_TERMS
from tiltmeter.reports.formatting import format_interval, format_p, four_digits
from tiltmeter.reports.gather import gather
from tiltmeter.reports.group_names import shown_group
from tiltmeter.reports.item_texts import item_texts
from tiltmeter.reports.page import benchmark_sections, models_of, packed_figures
from tiltmeter.reports.templating import page_template, template_file
from tiltmeter.runs.file_digests import on_changed
from tiltmeter.runs.manifest import Statistics
from tiltmeter.runs.result import Result
from tiltmeter.runs.samples import sample_notes

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
    gathered = gather(results)
    sections = benchmark_sections(gathered)
    texts, missing = item_texts((result for _, result in results), gathered.benchmarks)
    explorer = explore(
        gathered.scores,
        texts,
        gathered.answers,
        gathered.tokens,
        forms_of=gathered.forms,
        modules=gathered.modules,
    )
    style = template_file("report.css")
    scripts = [_vega(), template_file("figures.js"), template_file("explorer.js")]
    html = page_template("report.html.jinja").render(
        policy=content_policy(style, scripts),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        charts=Markup(packed_figures(sections)),
        explorer=explorer,
        missing=missing,
        sections=sections,
        models=models_of(gathered.records),
        runs=[
            {
                "name": name,
                "facts": provenance.facts(manifest),
                "files": provenance.data_files(manifest),
                "omissions": provenance.omissions(manifest),
                "flags": provenance.flags(manifest),
                "notes": [*on_changed(result.changed), *provenance.notes(manifest)],
                "models": provenance.model_table(manifest),
            }
            for (name, manifest), (_, result) in zip(gathered.runs, results, strict=True)
        ],
        data_sets=provenance.data_set_facts(
            (section.name for section in sections), (manifest for _, manifest in gathered.runs)
        ),
        definitions=provenance.definitions(gathered.records),
        samples=list(
            dict.fromkeys(s for _, run in gathered.runs for s in sample_notes(run.data, None, gathered.benchmarks))
        ),
        single_terms=SINGLE_TERMS,
        statistics=gathered.runs[0][1].statistics if gathered.runs else Statistics(),
        made=datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        version=tiltmeter.__version__,
        vega=vl_convert.get_vega_version(),
        symbols=_SYMBOLS,
        shown_group=shown_group,
        format_p=format_p,
        four_digits=four_digits,
        format_interval=format_interval,
    )
    figures = [(section.slug, drawn.figure) for section in sections for drawn in section.figures]
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
