"""The report: one HTML file with everything in it, that loads nothing and may run nothing but its own script."""

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files

import vl_convert
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

import tiltmeter
from tiltmeter.reports import provenance
from tiltmeter.reports.explorer import explore
from tiltmeter.reports.figures import Figure
from tiltmeter.reports.figures.of_benchmark import SINGLE_TERMS
from tiltmeter.reports.gather import gather
from tiltmeter.reports.item_texts import item_texts
from tiltmeter.reports.page import models_of, packed_figures, sections
from tiltmeter.reports.style import SHAPES
from tiltmeter.reports.words import probability
from tiltmeter.runs.result import Result
from tiltmeter.runs.samples import samples_of

_TEMPLATES = files("tiltmeter.reports") / "templates"
# Vega draws; its expressions are interpreted, so that the page needs no permission to make code out of strings.
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
    """The page over named runs, and its figures with what their benchmark is called in file names."""
    gathered = gather(results)
    found = sections(gathered)
    texts, missing = item_texts((result for _, result in results), gathered.benchmarks)
    explorer = explore(gathered.scores, texts)
    style = _file("report.css")
    scripts = [_vega(), _file("figures.js"), _file("explorer.js")]
    page = _environment().get_template("report.html.jinja")
    html = page.render(
        policy=_policy(style, scripts),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        charts=Markup(packed_figures(found)),
        explorer=explorer,
        missing=missing,
        sections=found,
        models=models_of(gathered.records),
        runs=[
            {
                "name": name,
                "facts": provenance.facts(manifest),
                "files": provenance.data_files(manifest),
                "omissions": provenance.omissions(manifest),
                "notes": provenance.notes(manifest),
            }
            for name, manifest in gathered.runs
        ],
        about=provenance.about(section.name for section in found),
        definitions=provenance.definitions(gathered.records),
        samples=list(
            dict.fromkeys(s for _, manifest in gathered.runs for s in samples_of(manifest, None, gathered.benchmarks))
        ),
        single_terms=SINGLE_TERMS,
        statistics=gathered.runs[0][1].get("statistics", {}) if gathered.runs else {},
        made=datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        version=tiltmeter.__version__,
        vega=vl_convert.get_vega_version(),
        symbols=_SYMBOLS,
        probability=probability,
    )
    figures = [(section.slug, drawn.figure) for section in found for drawn in section.figures]
    return html, figures


def _policy(style: str, scripts: Sequence[str]) -> str:
    """A Content-Security-Policy under which nothing is loaded, and nothing runs but these very scripts."""
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
    # The browser turns CRLF into LF before it hashes, and would end the element at an end tag inside a string.
    return script.replace("\r\n", "\n").replace("</script", "<\\/script")


def _file(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_file), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["shapes"] = SHAPES
    return environment
