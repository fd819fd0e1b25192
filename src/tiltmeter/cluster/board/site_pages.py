"""The pages of a board: tables of all benchmarks and of each, models, trends. They load nothing, not even each other.

A page with tables holds its data as gzip-compressed JSON in base64, for `templates/board.js`:

    {"models": [[name, page, family]], "root": path of the site from this page, "verdicts": [[mark, tone, side]],
     "shownColumns": 6, "shownRows": 200,
     "sections": [{"columns": [{"place", "benchmark", "code", "language", "measure", "extra", "reference", "summary",
     "cells": [[model, value, interval, low, high, at, verdict, [words beside], value to sort by, distance]]}]}]}
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
from tiltmeter.reports.display_text import clip, format_label
from tiltmeter.reports.model_facts import describe_model
from tiltmeter.reports.page_templates import load_template, read_template_file
from tiltmeter.reports.provenance import describe_data_sets
from tiltmeter.reports.report_page import build_content_policy

_PACKAGE = "tiltmeter.cluster.board"
# Columns and rows of a table at once, and cells that the page has before the script draws the others.
SHOWN_COLUMNS, SHOWN_ROWS, _FIRST_CELLS = 6, 60, 1_500

METHOD = (
    "A column holds numbers that can be compared: one part of a benchmark in one language, one measure, models of one "
    "kind, asked by one protocol on the same files. Likelihoods and answers to prompts never share a column.",
    "Values have 95% intervals; verdicts are those of the runs, corrected for the number of tests within each run. The "
    "dotted line of a small picture is the ideal, and stereotypes are to its right.",
    "Ranks count from the model closest to the ideal, and are given as the ranks that a model may have: every pair of "
    "models in a column is tested for being equally far from the ideal, paired by item where both runs have the same "
    "items and their scores, and corrected by Holm's method over all pairs of the column, so that with 95% confidence "
    "all ranks of a column hold at once. Models that are not interpretable have no rank.",
    "The reference of a column is the model closest to the ideal, unless another was named. “Closer” and “farther” are "
    "models told apart from it by the same tests; models without either word are not.",
)


@dataclass(frozen=True, slots=True)
class _InitialTable:
    """A table as it is in the page before the script runs."""

    title: str
    range: str
    columns: Sequence[ColumnView]
    rows: Sequence[tuple[ModelView, Sequence[CellView | None]]]


def render_pages(board: Board, reports: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The path and the text of each page; `reports` are the paths of the reports of runs, by the name of the run."""
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
        yield model.shown.page, _render_model_page(board, model, trends, reports, without_script)
    for trend in trends:
        yield (
            trend.page,
            load_template("trend.html.jinja", _PACKAGE).render(
                **without_script,
                trend=trend,
                width=WIDTH,
                height=HEIGHT,
                names=[model.shown.name for model in board.models],
                pages=[model.shown.page for model in board.models],
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
        broken=[{"name": format_label(run.name, 200), "reason": clip(run.reason, 300)} for run in board.broken],
        notes=[clip(note, 300) for note in board.notes],
    )


def _list_definitions(columns: Sequence[ColumnView]) -> list[tuple[str, str]]:
    names = dict.fromkeys(column.column.key.measure for column in columns)
    return [(name, get_measure(name).meaning) for name in names if get_measure(name).meaning]


def _build_filters(board: Board, sections: Sequence[SectionView]) -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    """The choices of the filters: id, heading, the choice of all, and values with their texts."""
    columns = [column for section in sections for column in section.columns]
    benchmarks = {column.benchmark for column in columns}
    places = sorted({column.place for column in columns} | benchmarks)
    where = ("by-place", "Benchmark", "all benchmarks", [(place, place) for place in places])
    if len(benchmarks) == 1:
        where = ("by-place", "Part", "summary", [(place, place) for place in places if place not in benchmarks])
    languages = sorted({(column.column.key.language, column.language) for column in columns}, key=lambda one: one[1])
    families = sorted({model.shown.family for model in board.models if model.shown.family})
    return [
        where,
        ("by-language", "Language", "all languages", languages),
        ("by-section", "Kind", "all kinds", [(str(n), section.title) for n, section in enumerate(sections)]),
        ("by-family", "Family", "all families", [(family, family) for family in families]),
    ]


def _build_initial_tables(board: Board, sections: Sequence[SectionView]) -> Iterator[_InitialTable]:
    """The tables before anything is chosen; the script draws those for which there is no room in the page."""
    room = _FIRST_CELLS
    for section in sections:
        summary = [column for column in section.columns if column.column.is_summary]
        columns = summary[:SHOWN_COLUMNS]
        rows = [
            (model.shown, [column.cells.get(model.shown.number) for column in columns])
            for model in board.models
            if any(model.shown.number in column.cells for column in columns)
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
        "models": [[model.shown.name, model.shown.page, model.shown.family] for model in board.models],
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
    numbers = (float(f"{number:.6g}") for number in (cell.cell.record.value, cell.cell.distance))
    return [cell.model, cell.value, cell.interval, at.low, at.high, at.value, verdict, list(cell.beside), *numbers]


def _render_model_page(
    board: Board, model: BoardModel, trends: Sequence[Trend], reports: Mapping[str, str], common: Mapping[str, Any]
) -> str:
    number = model.shown.number
    tables = [
        (section.title, [(column, column.cells[number]) for column in section.columns if number in column.cells])
        for section in board.sections
    ]
    described = {name: clip(text, 200) for name, text in model.described.texts().items()}
    if described.get("dtype") == model.entry.get("dtype"):
        described.pop("dtype", None)  # said as the precision
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
