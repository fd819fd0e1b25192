"""The content of a report's sections, one section for each benchmark, without HTML markup."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import vl_convert

from tiltmeter.measures import Measure, collect_notes, get_measure, is_measure_module
from tiltmeter.measures.controls import ControlContrast
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.combined_runs import CombinedRuns
from tiltmeter.reports.controls import describe_contrast, describe_location, describe_missing_controls, list_contrasts
from tiltmeter.reports.figures import Figure, FigureData, select_figures
from tiltmeter.reports.formatting import clear_uninterpretable_p
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.language_overview import LanguageOverview, build_overviews
from tiltmeter.reports.plugin_failures import describe_failure
from tiltmeter.reports.record_rows import ALL_MODELS, build_rows
from tiltmeter.reports.summary_rows import SummaryRow, build_summary_rows
from tiltmeter.reports.verdict_text import Headline, RowVerdict, build_headlines, list_summary_verdicts, list_verdicts
from tiltmeter.runs.sample_notes import list_sample_notes

MOST_TERMS = 1_000  # maximum number of rows in the table of target terms, such as "nurse"
MOST_NUMBERS = 600  # maximum number of rows in the table of all numbers; `tiltmeter show --csv` prints every row


@dataclass(frozen=True, slots=True)
class CompiledFigure:
    """A figure whose panels were compiled from Vega-Lite to Vega; each panel is (title, Vega specification)."""

    figure: Figure
    panels: list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class BenchmarkSection:
    """The section of a report with the results of one benchmark."""

    name: str
    slug: str
    protocols: list[str]
    measure: str
    meaning: str
    headline: Headline | None
    lines: list[SummaryRow]
    companions: list[tuple[str, str]]  # (name, meaning) of the other measures in the summary table
    figures: list[CompiledFigure]
    overviews: list[LanguageOverview] = field(default_factory=list)  # empty if there are few languages
    undefined: list[str] = field(default_factory=list)  # notes on measures that cannot be computed from the scores
    terms: list[SummaryRow] = field(default_factory=list)
    numbers: list[Record] = field(default_factory=list)
    more_numbers: int = 0
    controls: list[ControlContrast] = field(default_factory=list)
    missing_control: str = ""
    failures: list[str] = field(default_factory=list)  # error messages of plug-in figures


def build_sections(combined: CombinedRuns) -> list[BenchmarkSection]:
    """Return one section for each benchmark, in the order in which the benchmarks occur in the runs."""
    models = list_models(combined.records)
    sections: list[BenchmarkSection] = []
    for name, records in group_by(combined.records, lambda record: record.benchmark).items():
        data = FigureData.select(name, combined.records, combined.scores, models)
        slug = _build_slug(name, [section.slug for section in sections])
        figures, failures = _draw_figures(data)
        samples = [
            note
            for _, manifest in combined.runs
            for note in list_sample_notes(manifest.data, name, combined.benchmarks)
        ]
        section = _build_section(name, slug, records, figures, list(dict.fromkeys(samples)))
        section = replace(
            section, undefined=_list_undefined_measures(data.scores, combined.modules.get(name)), failures=failures
        )
        sections.append(_add_controls(section, combined.records))
    return sections


def _draw_figures(data: FigureData) -> tuple[list[CompiledFigure], list[str]]:
    """Return the figures of a benchmark, and an error message for each plug-in figure that failed."""
    figures: list[CompiledFigure] = []
    failures = []
    for report_figure in select_figures(data):
        try:
            figures += [_compile_figure(figure) for figure in report_figure.draw(data)]
        except Exception as error:  # a plug-in may raise any exception
            failures.append(describe_failure(f"figure {report_figure.name!r}", report_figure.draw, error))
    return figures, failures


def _add_controls(section: BenchmarkSection, records: Sequence[Record]) -> BenchmarkSection:
    """Return a copy of the section with the results of the benchmark's control data sets.

    The first control that may explain the bias is added to the headline.
    """
    contrasts = list_contrasts(records, section.name)
    headline = section.headline
    explaining = next((c for c in contrasts if c.outcome == "not more"), None)
    if headline is not None and explaining is not None:
        location = f"{explaining.record.model}, {describe_location(explaining.record)}"
        headline = replace(headline, more=(*headline.more, f"{location}: {describe_contrast(explaining)}"))
    return replace(
        section, controls=contrasts, headline=headline, missing_control=describe_missing_controls(records, section.name)
    )


def _list_undefined_measures(scores: pd.DataFrame, module: str | None) -> list[str]:
    if module is None or scores.empty or not is_measure_module(module):
        return []
    return collect_notes(module, scores.dropna(axis="columns", how="all"))


def list_models(records: Sequence[Record]) -> list[str]:
    """Return the names of the models in a report; the position of a name in the list determines the model's colour."""
    return [model for model in dict.fromkeys(record.model for record in records) if model != ALL_MODELS]


def _build_section(
    name: str, slug: str, records: Sequence[Record], figures: list[CompiledFigure], samples: Sequence[str]
) -> BenchmarkSection:
    rows = build_rows(records)
    summary = list_summary_verdicts(rows)
    measure: Measure | None = get_measure(summary[0].record.measure) if summary else None
    companions = [other for other in measure.companions if any(other in v.row for v in summary)] if measure else []
    numbers = clear_uninterpretable_p([r for r in records if r.view not in ("target", "as published")])
    if len({r.group for r in numbers if r.view == "bias_type"}) == 1:
        # The only bias type contains all items, so its numbers repeat the numbers over all items.
        numbers = [r for r in numbers if r.view != "bias_type"]
    terms = list_verdicts(build_rows(records, "target"))
    lines = build_summary_rows(summary, companions)
    overviews = build_overviews(lines)
    return BenchmarkSection(
        name=name,
        slug=slug,
        protocols=list(dict.fromkeys(p for r in records for p in r.protocol.split(" + "))),
        measure=measure.name if measure else "",
        meaning=measure.meaning if measure else "",
        headline=next(iter(build_headlines(rows, samples)), None),
        lines=lines if overviews else _add_part_rows(summary, list_verdicts(rows), companions),
        overviews=overviews,
        companions=[(name, get_measure(name).meaning) for name in companions],
        figures=figures,
        terms=build_summary_rows(sorted(terms, key=lambda v: -v.record.value), [])[:MOST_TERMS],
        numbers=numbers[:MOST_NUMBERS],
        more_numbers=max(0, len(numbers) - MOST_NUMBERS),
    )


def _add_part_rows(
    summary: Sequence[RowVerdict], rows: Sequence[RowVerdict], companions: Sequence[str]
) -> list[SummaryRow]:
    """Return the rows of the summary table; each row over all parts is followed by one row for each single part."""
    in_summary = {id(v.row) for v in summary}
    ordered: list[tuple[RowVerdict, bool]] = []
    for pooled in summary:
        ordered.append((pooled, False))
        if pooled.record.part == OVERALL:
            parts = (v for v in rows if id(v.row) not in in_summary and v.record.part != OVERALL)
            ordered += [(v, True) for v in parts if _is_same_measurement(v.record, pooled.record)]
    lines = build_summary_rows([v for v, _ in ordered], companions)
    return [replace(line, is_part=is_part) for line, (_, is_part) in zip(lines, ordered, strict=True)]


def _is_same_measurement(one: Record, other: Record) -> bool:
    return (one.model, one.language, one.measure) == (other.model, other.language, other.measure)


def _compile_figure(figure: Figure) -> CompiledFigure:
    compiled = [vl_convert.vegalite_to_vega(spec) for spec in figure.build_specs()]
    return CompiledFigure(figure, [(panel.title, vega) for panel, vega in zip(figure.panels, compiled, strict=True)])


def _build_slug(name: str, taken: Sequence[str]) -> str:
    """Return a short form of `name` for links and files (a-z, 0-9, hyphens) that differs from all slugs in `taken`."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.rsplit("/", 1)[-1].lower().removesuffix(".jsonl")).strip("-")[:40]
    slug = plain or "benchmark"
    return slug if slug not in taken else f"{slug}-{len(taken) + 1}"


def pack_figures(sections: Sequence[BenchmarkSection]) -> str:
    """Return a JSON object of the Vega specifications of all charts, for an HTML script element.

    The keys are the ids of the charts. `<`, `>` and `&` are escaped.
    """
    charts = {
        f"{section.slug}-{compiled.figure.slug}-{number}": vega
        for section in sections
        for compiled in section.figures
        for number, (_, vega) in enumerate(compiled.panels)
    }
    text = json.dumps(charts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
