"""The content of a report, section by section, without markup: what the template is filled with."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import vl_convert

from tiltmeter.measures import Measure, collect_notes, get_measure, is_measure_module
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.combined_runs import CombinedRuns
from tiltmeter.reports.controls import (
    describe_contrast,
    describe_location,
    describe_missing_controls,
    format_excess,
    list_contrasts,
)
from tiltmeter.reports.figures import Figure, FigureData, select_figures
from tiltmeter.reports.formatting import format_with_interval
from tiltmeter.reports.language_overview import LanguageOverview, build_overviews
from tiltmeter.reports.plugin_failures import describe_failure
from tiltmeter.reports.record_rows import ALL_MODELS, build_rows
from tiltmeter.reports.summary_rows import SummaryRow, build_summary_rows
from tiltmeter.reports.verdict_text import Headline, RowVerdict, build_headlines, list_summary_verdicts, list_verdicts
from tiltmeter.runs.sample_notes import list_sample_notes

MOST_TERMS = 1_000  # rows in the table of target terms
MOST_NUMBERS = 600  # rows in the table of all numbers; `tiltmeter show --csv` prints all


@dataclass(frozen=True, slots=True)
class CompiledFigure:
    """A figure with the titles and Vega specifications of its panels, compiled from Vega-Lite in advance."""

    figure: Figure
    panels: list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class ControlRow:
    """A row of the table of controls: the result, that of the control, the excess, and what it means."""

    model: str
    location: str
    result: str
    control: str
    excess: str
    sentence: str


@dataclass(frozen=True, slots=True)
class BenchmarkSection:
    """The section of one benchmark."""

    name: str
    slug: str
    protocols: list[str]
    measure: str
    meaning: str
    headline: Headline | None
    lines: list[SummaryRow]
    beside: list[tuple[str, str]]  # further measures of the summary table, with their meanings
    figures: list[CompiledFigure]
    overviews: list[LanguageOverview] = field(default_factory=list)  # where there are many languages
    undefined: list[str] = field(default_factory=list)  # sentences on measures that are not defined for the scores
    terms: list[SummaryRow] = field(default_factory=list)
    numbers: list[Record] = field(default_factory=list)
    more_numbers: int = 0
    controls: list[ControlRow] = field(default_factory=list)
    missing_control: str = ""
    failures: list[str] = field(default_factory=list)  # messages on figures of plug-ins that failed


def build_sections(gathered: CombinedRuns) -> list[BenchmarkSection]:
    """The sections of a report, in the order of the runs."""
    models = list_models(gathered.records)
    sections: list[BenchmarkSection] = []
    for name in dict.fromkeys(record.benchmark for record in gathered.records):
        records = [record for record in gathered.records if record.benchmark == name]
        data = FigureData.select(name, gathered.records, gathered.scores, models)
        slug = _build_slug(name, [section.slug for section in sections])
        figures, failures = _draw_figures(data)
        samples = [
            note
            for _, manifest in gathered.runs
            for note in list_sample_notes(manifest.data, name, gathered.benchmarks)
        ]
        section = _build_section(name, slug, records, figures, list(dict.fromkeys(samples)))
        section = replace(
            section, undefined=_list_undefined(data.scores, gathered.modules.get(name)), failures=failures
        )
        sections.append(_with_controls(section, gathered.records))
    return sections


def _draw_figures(data: FigureData) -> tuple[list[CompiledFigure], list[str]]:
    """The figures of a benchmark, and messages on figures of plug-ins that failed."""
    drawn: list[CompiledFigure] = []
    failures = []
    for figure in select_figures(data):
        try:
            drawn += [_compile_figure(made) for made in figure.draw(data)]
        except Exception as error:  # a plug-in may raise anything
            failures.append(describe_failure(f"figure {figure.name!r}", figure.draw, error))
    return drawn, failures


def _with_controls(section: BenchmarkSection, records: Sequence[Record]) -> BenchmarkSection:
    """The section with the results of the benchmark's controls; the first that explains a bias is in the headline."""
    contrasts = list_contrasts(records, section.name)
    rows = [
        ControlRow(
            c.record.model,
            describe_location(c.record),
            format_with_interval(c.record),
            f"{c.control.benchmark}: {format_with_interval(c.control)}",
            format_excess(c),
            describe_contrast(c),
        )
        for c in contrasts
    ]
    headline = section.headline
    explaining = next((c for c in contrasts if c.outcome == "not more"), None)
    if headline is not None and explaining is not None:
        where = f"{explaining.record.model}, {describe_location(explaining.record)}"
        headline = replace(headline, more=(*headline.more, f"{where}: {describe_contrast(explaining)}"))
    return replace(
        section, controls=rows, headline=headline, missing_control=describe_missing_controls(records, section.name)
    )


def _list_undefined(scores: pd.DataFrame, module: str | None) -> list[str]:
    if module is None or scores.empty or not is_measure_module(module):
        return []
    return collect_notes(module, scores.dropna(axis="columns", how="all"))


def list_models(records: Sequence[Record]) -> list[str]:
    """The models of a report; the position of a model decides its colour."""
    return [model for model in dict.fromkeys(record.model for record in records) if model != ALL_MODELS]


def _build_section(
    name: str, slug: str, records: Sequence[Record], figures: list[CompiledFigure], samples: Sequence[str]
) -> BenchmarkSection:
    rows = build_rows(records)
    summary = list_summary_verdicts(rows)
    measure: Measure | None = get_measure(summary[0].record.measure) if summary else None
    beside = [other for other in measure.companions if any(other in v.row for v in summary)] if measure else []
    numbers = [r for r in records if r.view not in ("target", "as published")]
    if len({r.group for r in numbers if r.view == "bias_type"}) == 1:
        numbers = [r for r in numbers if r.view != "bias_type"]  # one bias type has the numbers of all items
    terms = list_verdicts(build_rows(records, "target"))
    lines = build_summary_rows(summary, beside)
    overviews = build_overviews(lines)
    return BenchmarkSection(
        name=name,
        slug=slug,
        protocols=list(dict.fromkeys(p for r in records for p in r.protocol.split(" + "))),
        measure=measure.name if measure else "",
        meaning=measure.meaning if measure else "",
        headline=next(iter(build_headlines(rows, samples)), None),
        lines=lines if overviews else _with_parts(summary, list_verdicts(rows), beside),
        overviews=overviews,
        beside=[(name, get_measure(name).meaning) for name in beside],
        figures=figures,
        terms=build_summary_rows(sorted(terms, key=lambda v: -v.record.value), [])[:MOST_TERMS],
        numbers=numbers[:MOST_NUMBERS],
        more_numbers=max(0, len(numbers) - MOST_NUMBERS),
    )


def _with_parts(summary: Sequence[RowVerdict], rows: Sequence[RowVerdict], beside: Sequence[str]) -> list[SummaryRow]:
    """The rows of the summary, each pooled one followed by its parts, on one scale."""
    shown = {id(v.row) for v in summary}
    found: list[tuple[RowVerdict, bool]] = []
    for pooled in summary:
        found.append((pooled, False))
        if pooled.record.part == OVERALL:
            others = (v for v in rows if id(v.row) not in shown and v.record.part != OVERALL)
            found += [(v, True) for v in others if _is_same_measurement(v.record, pooled.record)]
    lines = build_summary_rows([v for v, _ in found], beside)
    return [replace(line, is_part=is_part) for line, (_, is_part) in zip(lines, found, strict=True)]


def _is_same_measurement(one: Record, other: Record) -> bool:
    return (one.model, one.language, one.measure) == (other.model, other.language, other.measure)


def _compile_figure(figure: Figure) -> CompiledFigure:
    compiled = [vl_convert.vegalite_to_vega(spec) for spec in figure.build_specs()]
    return CompiledFigure(figure, [(panel.title, vega) for panel, vega in zip(figure.panels, compiled, strict=True)])


def _build_slug(name: str, taken: Sequence[str]) -> str:
    """A name for links and files from letters, digits and hyphens, different from those taken."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.rsplit("/", 1)[-1].lower().removesuffix(".jsonl")).strip("-")[:40]
    slug = plain or "benchmark"
    return slug if slug not in taken else f"{slug}-{len(taken) + 1}"


def pack_figures(sections: Sequence[BenchmarkSection]) -> str:
    """All charts as JSON for a script element, with `<`, `>` and `&` escaped."""
    charts = {
        f"{section.slug}-{drawn.figure.slug}-{number}": vega
        for section in sections
        for drawn in section.figures
        for number, (_, vega) in enumerate(drawn.panels)
    }
    text = json.dumps(charts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
