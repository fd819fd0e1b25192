"""The HTML pages of a board: one for all benchmarks, and one for each benchmark, model and trend.

Each page is one file without external resources. A page with tables contains its data as gzip-compressed JSON in
base64, which the script `templates/board.js` reads:

    {"models": [[name, page, family]], "root": path of the site from this page, "verdicts": [[mark, tone, side]],
     "shownColumns": 6, "shownRows": 60,
     "sections": [{"columns": [{"place", "benchmark", "code", "language", "measure", "extra", "reference", "summary",
     "cells": [[model, value, interval, low, high, at, verdict, [remarks], value to sort by, distance]]}]}]}
"""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from markupsafe import Markup

import tiltmeter
from tiltmeter.cluster.board.board_content import Board, BoardModel
from tiltmeter.cluster.board.trends import HEIGHT, WIDTH, Trend, build_trends
from tiltmeter.cluster.board.view_models import CellView, ColumnView, ModelView, SectionView, build_slug
from tiltmeter.measures import get_measure
from tiltmeter.reports.display_text import clip_text, format_label
from tiltmeter.reports.model_facts import describe_model
from tiltmeter.reports.page_templates import load_template, read_template_file
from tiltmeter.reports.provenance import describe_data_sets
from tiltmeter.reports.report_page import build_content_policy

_PACKAGE = "tiltmeter.cluster.board"
# Maximum numbers of columns and of rows of a table that are visible at once, and of table cells in the HTML of a page
# before its script runs.
SHOWN_COLUMNS, SHOWN_ROWS, _FIRST_CELLS = 6, 60, 1_500

METHOD = (
    "Columns: all values of a column are comparable. They have the same benchmark, part, language, measure, kind of "
    "model, protocol and data files. Likelihoods and answers to prompts are never in the same column.",
    "Values and verdicts: values have 95% intervals. The verdicts come from the runs and are corrected for the number "
    "of tests in each run. In the small figures, the dotted line is the ideal; values to its right are stereotypical.",
    "Ranks: rank 1 is closest to the ideal. A range such as 2–4 contains all ranks that are possible. Every pair of "
    "models in a column is tested for equal distance from the ideal, paired by item if both runs have scores of the "
    "same items. The p-values are corrected by Holm's method over all pairs, so all ranges of a column are correct "
    "together with 95% confidence. Models whose result is contradictory or not interpretable have no rank "
    "and are never the reference; the parts of their benchmark have their own columns.",
    "Reference: the reference of a column is the model closest to the ideal, unless another model was chosen. Models "
    "marked “closer” or “farther” differ significantly from the reference in the same tests; other models do not.",
)


@dataclass(frozen=True, slots=True)
class _InitialTable:
    """A table as the HTML of a page contains it, before the script of the page runs."""

    title: str
    range: str
    columns: Sequence[ColumnView]
    rows: Sequence[tuple[ModelView, Sequence[CellView | None]]]


def render_pages(board: Board, reports: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the path and the HTML of each page; `reports` maps the name of a run to the path of its report."""
    trends = build_trends(board)
    names = {column.column.key.benchmark: column.benchmark for section in board.sections for column in section.columns}
    benchmarks = {name: f"benchmarks/{build_slug(name)}.html" for name in sorted(names)}
    common = {
        "style": Markup(_read_style()),
        "made": datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        "version": tiltmeter.__version__,
        "benchmark_pages": [(names[name], page) for name, page in benchmarks.items()],
        "trend_pages": [(trend.name, trend.page) for trend in trends],
        "root": "../",
    }
    yield "index.html", _render_tables_page(board, board.sections, {**common, "root": ""}, None)
    for name, page in benchmarks.items():
        sections = [
            SectionView(section.key, section.title, columns)
            for section in board.sections
            if (columns := [column for column in section.columns if column.column.key.benchmark == name])
        ]
        yield page, _render_tables_page(board, sections, common, name)
    without_script = {**common, "policy": build_content_policy(_read_style(), [])}
    for model in board.models:
        yield model.view.page, _render_model_page(board, model, trends, reports, without_script)
    for trend in trends:
        yield (
            trend.page,
            load_template("trend.html.jinja", _PACKAGE).render(
                **without_script,
                trend=trend,
                width=WIDTH,
                height=HEIGHT,
                names=[model.view.name for model in board.models],
                pages=[model.view.page for model in board.models],
            ),
        )


def _render_tables_page(
    board: Board, sections: Sequence[SectionView], common: dict[str, Any], benchmark: str | None
) -> str:
    script = _read_script()
    columns = [column for section in sections for column in section.columns]
    measured = {number for column in columns for number in column.cells}
    return load_template("tables.html.jinja", _PACKAGE).render(
        **common,
        policy=build_content_policy(_read_style(), [script]),
        script=Markup(script),
        packed=_pack_board(board, sections, str(common["root"])),
        models=len(measured),
        columns=len(columns),
        filters=_build_filters(board, sections),
        tables=list(_build_initial_tables(board, sections)),
        benchmark=None
        if benchmark is None
        else {"name": columns[0].benchmark, "definitions": _list_definitions(columns)},
        data_sets=describe_data_sets([benchmark], (run.manifest for run in board.runs)) if benchmark else [],
        method=METHOD,
        broken=[{"name": format_label(run.name, 200), "reason": clip_text(run.reason, 300)} for run in board.broken],
        notes=[clip_text(note, 300) for note in board.notes],
    )


def _list_definitions(columns: Sequence[ColumnView]) -> list[tuple[str, str]]:
    names = dict.fromkeys(column.column.key.measure for column in columns)
    return [(name, get_measure(name).meaning) for name in names if get_measure(name).meaning]


def _build_filters(board: Board, sections: Sequence[SectionView]) -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    """Return the filters of a page, each as (id, heading, text for "no filter", pairs of a value and its text)."""
    columns = [column for section in sections for column in section.columns]
    benchmarks = {column.benchmark for column in columns}
    places = sorted({column.place for column in columns} | benchmarks)
    where = ("by-place", "Benchmark", "all benchmarks", [(place, place) for place in places])
    if len(benchmarks) == 1:
        where = ("by-place", "Part", "summary", [(place, place) for place in places if place not in benchmarks])
    languages = sorted({(column.column.key.language, column.language) for column in columns}, key=lambda one: one[1])
    families = sorted({model.view.family for model in board.models if model.view.family})
    return [
        where,
        ("by-language", "Language", "all languages", languages),
        ("by-section", "Kind", "all kinds", [(str(n), section.title) for n, section in enumerate(sections)]),
        ("by-family", "Family", "all families", [(family, family) for family in families]),
    ]


def _build_initial_tables(board: Board, sections: Sequence[SectionView]) -> Iterator[_InitialTable]:
    """Yield the unfiltered tables for the HTML of a page.

    After the first table, a table that would exceed `_FIRST_CELLS` cells on the page has no rows in the HTML; the
    script adds its rows.
    """
    room = _FIRST_CELLS
    for section in sections:
        summary = [column for column in section.columns if column.column.is_summary]
        columns = summary[:SHOWN_COLUMNS]
        rows = [
            (model.view, [column.cells.get(model.view.number) for column in columns])
            for model in board.models
            if any(model.view.number in column.cells for column in columns)
        ][:SHOWN_ROWS]
        total = len(summary)
        text = f"Columns 1–{len(columns)} of {total}" if total > len(columns) else f"{total} column{'s' * (total != 1)}"
        fits = room == _FIRST_CELLS or len(rows) * len(columns) <= room
        room -= len(rows) * len(columns)
        yield _InitialTable(section.title, text, columns, rows if fits else [])


def _pack_board(board: Board, sections: Sequence[SectionView], root: str) -> str:
    verdicts: dict[tuple[str, str, str], int] = {}
    packed = []
    for section in sections:
        columns = []
        for column in section.columns:
            key = column.column.key
            columns.append(
                {
                    "place": column.place,
                    "benchmark": column.benchmark,
                    "code": key.language,
                    "language": column.language,
                    "measure": key.measure,
                    "extra": column.extra,
                    "reference": column.reference,
                    "summary": column.column.is_summary,
                    "cells": [_pack_cell(cell, verdicts) for cell in column.cells.values()],
                }
            )
        packed.append({"columns": columns})
    content = {
        "models": [[model.view.name, model.view.page, model.view.family] for model in board.models],
        "root": root,
        "verdicts": [list(verdict) for verdict in verdicts],
        "shownColumns": SHOWN_COLUMNS,
        "shownRows": SHOWN_ROWS,
        "sections": packed,
    }
    raw = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(raw, 6, mtime=0)).decode()


def _pack_cell(cell: CellView, verdicts: dict[tuple[str, str, str], int]) -> list[Any]:
    at = cell.ruler
    verdict = verdicts.setdefault((cell.mark, cell.tone, at.side), len(verdicts))
    value, distance = (float(f"{number:.6g}") for number in (cell.cell.record.value, cell.cell.distance))
    # A value that cannot be ordered gets no distance, so that it is last if models are sorted by distance.
    order = [value, distance if cell.cell.verdict.is_reliable else None]
    return [cell.model, cell.value, cell.interval, at.low, at.high, at.value, verdict, list(cell.remarks), *order]


def _render_model_page(
    board: Board, model: BoardModel, trends: Sequence[Trend], reports: Mapping[str, str], common: Mapping[str, Any]
) -> str:
    number = model.view.number
    tables = [
        (section.title, [(column, column.cells[number]) for column in section.columns if number in column.cells])
        for section in board.sections
    ]
    described = {name: clip_text(text, 200) for name, text in model.described.get_attribute_texts().items()}
    if described.get("dtype") == model.entry.dtype:
        # The page already shows the data type as the precision of the model.
        described.pop("dtype", None)
    trend = next((one for one in trends if one.name == format_label(model.described.series)), None)
    return load_template("model.html.jinja", _PACKAGE).render(
        **common,
        model=model,
        facts=list(
            {**{format_label(name): text for name, text in described.items()}, **describe_model(model.entry)}.items()
        ),
        trend=trend if model.described.series else None,
        step=model.described.step,
        tables=[(title, lines) for title, lines in tables if lines],
        reports=reports,
    )


def _read_style() -> str:
    return read_template_file("report.css") + _read_file("board.css")


def _read_script() -> str:
    return _read_file("board.js")


def _read_file(name: str) -> str:
    return (files(_PACKAGE) / "templates" / name).read_text(encoding="utf-8")
