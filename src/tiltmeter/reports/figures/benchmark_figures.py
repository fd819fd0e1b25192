"""The figures of a benchmark: every kind for which it has the records or scores."""

from collections.abc import Iterator, Sequence

import pandas as pd

from tiltmeter.measures import get_measure, select_deciding_record
from tiltmeter.measures.pairs import compute_pair_differences
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.figures.chart_elements import (
    MOST_PANELS,
    Domain,
    build_language_legend,
    build_model_legend,
    format_panel_title,
    get_comparison_key,
    list_distinct,
)
from tiltmeter.reports.figures.differences import draw_differences
from tiltmeter.reports.figures.figure import Figure, Panel
from tiltmeter.reports.figures.forest import draw_forest
from tiltmeter.reports.figures.gest_figures import build_rank_figures, build_stereotype_figures, build_template_figures
from tiltmeter.reports.figures.heat_map import NO_STATEMENT, draw_heat_map
from tiltmeter.reports.figures.stereotypes import find_stereotype_sides
from tiltmeter.reports.figures.tilt_map import draw_tilt_map
from tiltmeter.reports.figures.translation_map import draw_translation_map
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.language_overview import FEWEST_LANGUAGES
from tiltmeter.reports.record_rows import (
    ALL_MODELS,
    RecordRow,
    build_rows,
    get_first_record,
    group_records,
    is_contradictory,
    is_pooled,
    select_summary_rows,
)

# A note for all outputs with single target terms.
SINGLE_TERMS = (
    "Single terms are unreliable: with about 27 items each, the ranking of the terms on one half of the items hardly "
    "predicts that on the other half (split-half reliability .25)."
)
_ENOUGH = 10  # fewest items of a term in a figure


def build_figures(records: Sequence[Record], scores: pd.DataFrame, models: Domain) -> list[Figure]:
    """The figures of one benchmark. `models` are all models of the report, which decide the colours."""
    records = [record for record in records if record.model != ALL_MODELS]
    rows = select_summary_rows(build_rows(records))
    return [
        *_build_tilt_map([row for row in rows if {"SS", "LMS", "ICAT"} <= row.keys()], models),
        *_build_translation_map([row for row in rows if {"f_s", "f_m"} <= row.keys()], models),
        *_build_heat_map(rows),
        *_build_bias_type_figure(records, models),
        *_build_target_figure(records, models),
        *_build_difference_figure(scores, models),
        *build_template_figures(records, models),
        *build_stereotype_figures(records, find_stereotype_sides(scores)),
        *build_rank_figures(records, find_stereotype_sides(scores)),
    ]


def _build_tilt_map(rows: Sequence[RecordRow], models: Domain) -> Iterator[Figure]:
    if rows:
        yield Figure(
            "tilt-map",
            "Tilt map",
            "The dotted line is SS 50, no bias. The ring marks the ideal: SS 50 and LMS 100. The grey lines are "
            f"contours of ICAT. The bars are 95% intervals.{_describe_incomparable_models([r['SS'] for r in rows])}",
            (Panel("", draw_tilt_map(rows, models)),),
            legend=(
                *build_model_legend(models, (row["SS"].model for row in rows)),
                *build_language_legend(list_distinct(get_language_name(row["SS"].language) for row in rows)),
            ),
        )


def _build_translation_map(rows: Sequence[RecordRow], models: Domain) -> Iterator[Figure]:
    if rows:
        yield Figure(
            "translation-map",
            "Stereotypes against men as the norm",
            "A system in the ring uses both genders equally often for every stereotype. Further to the right, the "
            "masculine is used more often overall; further up, the gender follows the stereotype. No system can be "
            "above the dashed line.",
            (Panel("", draw_translation_map(rows, models)),),
            legend=build_model_legend(models, (row["f_s"].model for row in rows)),
        )


def _build_heat_map(rows: Sequence[RecordRow]) -> Iterator[Figure]:
    decisive = [record for row in rows if (record := select_deciding_record(row)) is not None]
    if len({(r.model, r.language) for r in decisive}) < 2:
        return
    languages = {r.language for r in decisive}
    if len({r.model for r in decisive}) == 1 and len(languages) >= FEWEST_LANGUAGES:
        return  # the overview of languages shows the same
    measure = get_measure(decisive[0].measure)
    decisive = [r for r in decisive if r.measure == measure.name]
    # Numbers that are not comparable are in different panels.
    by_panel: dict[tuple[str, ...], list[Record]] = {}
    for r in decisive:
        by_panel.setdefault((r.part, *get_comparison_key(r)), []).append(r)
    caption = (
        f"{measure.axis[0].upper()}{measure.axis[1:]}; {measure.ideal:g} is no bias. Orange is towards stereotypes, "
        "blue against them; a dot marks a significant bias."
    )
    if any(r.verdict is not None and r.verdict.kind in NO_STATEMENT for r in decisive):
        caption += " A question mark: not interpretable, or contradictory parts."
    if len({key[1:] for key in by_panel}) > 1:
        caption += " Models of different kinds or protocols are in separate panels: their numbers are not comparable."
    yield Figure(
        "heat-map",
        f"{measure.name} by model and language",
        caption,
        tuple(Panel(format_panel_title(key, list(by_panel)), draw_heat_map(panel)) for key, panel in by_panel.items()),
    )


def _describe_incomparable_models(records: Sequence[Record]) -> str:
    """A sentence for figures that show models whose numbers are not comparable; empty if there are none."""
    parts: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for r in records:
        parts.setdefault((r.part, r.language), set()).add(get_comparison_key(r))
    if all(len(ways) == 1 for ways in parts.values()):
        return ""
    return " Models of different kinds or protocols are shown together: their numbers are not comparable."


def _build_bias_type_figure(records: Sequence[Record], models: Domain) -> Iterator[Figure]:
    rows = [
        *_select_primary_records(records, "bias_type"),
        *_select_primary_records(records, "all"),
    ]  # all items below the bias types
    if len({r.group for r in rows if r.view == "bias_type"}) > 1:  # one bias type is all items
        yield Figure(
            "bias-types",
            "By bias type",
            f"{rows[0].measure} with its 95% interval; the dotted line is no bias. The table of all numbers shows "
            f"which are significant after correction for multiple tests.{_describe_incomparable_models(rows)}",
            (panels := _build_forest_panels(rows, models)),
            legend=build_model_legend(models, (r.model for r in rows)),
            wide=False,
            folded=len(panels) > MOST_PANELS,
        )


def _build_target_figure(records: Sequence[Record], models: Domain) -> Iterator[Figure]:
    terms = [r for r in _select_primary_records(records, "target") if r.n >= _ENOUGH]
    terms.sort(key=lambda r: (-r.value, r.group))
    if terms:
        yield Figure(
            "target-terms",
            "By target term",
            f"{terms[0].measure} of the items about each term with at least {_ENOUGH} items, with its 95% interval. "
            f"{SINGLE_TERMS}{_describe_incomparable_models(terms)}",
            _build_forest_panels(terms, models),
            legend=build_model_legend(models, (r.model for r in terms)),
            wide=False,
            folded=True,
        )


def _select_primary_records(records: Sequence[Record], view: str) -> list[Record]:
    """The records that give the verdicts of a view: of pooled parts if there are any that are not contradictory."""
    decisive = [record for row in build_rows(records, view) if (record := select_deciding_record(row)) is not None]
    unpooled = {
        (get_first_record(row).model, get_first_record(row).language)
        for row in build_rows(records)
        if is_contradictory(row)
    }
    whole = {(r.model, r.language) for r in decisive if r.part == OVERALL} - unpooled
    decisive = [r for r in decisive if (r.part == OVERALL) == ((r.model, r.language) in whole)]
    return [r for r in decisive if r.measure == decisive[0].measure]


def _build_forest_panels(records: Sequence[Record], models: Domain) -> tuple[Panel, ...]:
    """A panel for each language and part, on one scale."""
    ends = [end for r in records for end in (r.value, r.low, r.high) if end is not None]
    scale = get_measure(records[0].measure).span(ends)
    panels = []
    for (language, part), group in group_records(records, "language", "part"):
        title = get_language_name(language) + ("" if is_pooled(part) else f", {part}")
        panels.append(Panel(title, draw_forest(group, models, scale)))
    return tuple(panels)


def _build_difference_figure(scores: pd.DataFrame, models: Domain) -> Iterator[Figure]:
    if not {"more", "less"} <= set(scores["role"]):
        return
    table = compute_pair_differences(scores.dropna(axis="columns", how="all"))
    panels = tuple(
        Panel(
            f"Protocol {protocol}" if table["protocol"].nunique() > 1 else "",
            draw_differences(rows, models),
        )
        for protocol, rows in table.groupby("protocol", sort=False)
    )
    yield Figure(
        "differences",
        "More minus less",
        "The difference in log-likelihood between the more and the less stereotypical sentence of each pair. For a "
        "model without bias, half of the pairs are to the right of the dotted line; hover over a curve for the share. "
        "The box below spans the quartiles, with a tick at the median and a point at the mean; its line reaches to the "
        "last pair within 1.5 times the length of the box.",
        panels,
        legend=build_model_legend(models, table["model"]),
    )
