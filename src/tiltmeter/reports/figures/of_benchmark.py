"""The figures of a benchmark: every kind for which it has the records or scores."""

from collections.abc import Iterator, Sequence

import pandas as pd

from tiltmeter.measures import deciding, measure_named
from tiltmeter.measures.pairs import pair_differences
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.figures.differences import differences
from tiltmeter.reports.figures.figure import Figure, Panel
from tiltmeter.reports.figures.forest import forest
from tiltmeter.reports.figures.heat_map import NO_STATEMENT, heat_map
from tiltmeter.reports.figures.of_gest import rank_figures, stereotype_figures, template_figures
from tiltmeter.reports.figures.series import (
    MOST_PANELS,
    Domain,
    asked_way,
    language_keys,
    model_keys,
    ordered,
    panel_title,
)
from tiltmeter.reports.figures.stereotypes import kinds_of
from tiltmeter.reports.figures.tilt_map import tilt_map
from tiltmeter.reports.figures.translation_map import translation_map
from tiltmeter.reports.language_overview import FEWEST_LANGUAGES
from tiltmeter.reports.languages import language_name
from tiltmeter.reports.record_rows import (
    ALL_MODELS,
    RecordRow,
    any_record,
    contradictory,
    pooled,
    rows_of,
    split,
    summaries,
)

# A note for all outputs with single target terms.
SINGLE_TERMS = (
    "Single terms are unreliable: with about 27 items each, the ranking of the terms on one half of the items hardly "
    "predicts that on the other half (split-half reliability .25)."
)
_ENOUGH = 10  # fewest items of a term in a figure


def figures_of(records: Sequence[Record], scores: pd.DataFrame, models: Domain) -> list[Figure]:
    """The figures of one benchmark. `models` are all models of the report, which decide the colours."""
    records = [record for record in records if record.model != ALL_MODELS]
    rows = summaries(rows_of(records))
    return [
        *_tilt_map([row for row in rows if {"SS", "LMS", "ICAT"} <= row.keys()], models),
        *_translation_map([row for row in rows if {"f_s", "f_m"} <= row.keys()], models),
        *_heat_map(rows),
        *_bias_types(records, models),
        *_targets(records, models),
        *_differences(scores, models),
        *template_figures(records, models),
        *stereotype_figures(records, kinds_of(scores)),
        *rank_figures(records, kinds_of(scores)),
    ]


def _tilt_map(rows: Sequence[RecordRow], models: Domain) -> Iterator[Figure]:
    if rows:
        yield Figure(
            "tilt-map",
            "Tilt map",
            "The dotted line is SS 50, no bias. The ring marks the ideal: SS 50 and LMS 100. The grey lines are "
            f"contours of ICAT. The bars are 95% intervals.{_side_by_side([r['SS'] for r in rows])}",
            (Panel("", tilt_map(rows, models)),),
            legend=(
                *model_keys(models, (row["SS"].model for row in rows)),
                *language_keys(ordered(language_name(row["SS"].language) for row in rows)),
            ),
        )


def _translation_map(rows: Sequence[RecordRow], models: Domain) -> Iterator[Figure]:
    if rows:
        yield Figure(
            "translation-map",
            "Stereotypes against men as the norm",
            "A system in the ring uses both genders equally often for every stereotype. Further to the right, the "
            "masculine is used more often overall; further up, the gender follows the stereotype. No system can be "
            "above the dashed line.",
            (Panel("", translation_map(rows, models)),),
            legend=model_keys(models, (row["f_s"].model for row in rows)),
        )


def _heat_map(rows: Sequence[RecordRow]) -> Iterator[Figure]:
    decisive = [record for row in rows if (record := deciding(row)) is not None]
    if len({(r.model, r.language) for r in decisive}) < 2:
        return
    languages = {r.language for r in decisive}
    if len({r.model for r in decisive}) == 1 and len(languages) >= FEWEST_LANGUAGES:
        return  # the overview of languages shows the same
    measure = measure_named(decisive[0].measure)
    decisive = [r for r in decisive if r.measure == measure.name]
    # Numbers that are not comparable are in different panels.
    by_panel: dict[tuple[str, ...], list[Record]] = {}
    for r in decisive:
        by_panel.setdefault((r.part, *asked_way(r)), []).append(r)
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
        tuple(Panel(panel_title(key, list(by_panel)), heat_map(panel)) for key, panel in by_panel.items()),
    )


def _side_by_side(records: Sequence[Record]) -> str:
    """A sentence for figures that show models whose numbers are not comparable; empty if there are none."""
    parts: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for r in records:
        parts.setdefault((r.part, r.language), set()).add(asked_way(r))
    if all(len(ways) == 1 for ways in parts.values()):
        return ""
    return " Models of different kinds or protocols are shown together: their numbers are not comparable."


def _bias_types(records: Sequence[Record], models: Domain) -> Iterator[Figure]:
    rows = [*_deciding(records, "bias_type"), *_deciding(records, "all")]  # all items below the bias types
    if len({r.group for r in rows if r.view == "bias_type"}) > 1:  # one bias type is all items
        yield Figure(
            "bias-types",
            "By bias type",
            f"{rows[0].measure} with its 95% interval; the dotted line is no bias. The table of all numbers shows "
            f"which are significant after correction for multiple tests.{_side_by_side(rows)}",
            (panels := _forests(rows, models)),
            legend=model_keys(models, (r.model for r in rows)),
            wide=False,
            folded=len(panels) > MOST_PANELS,
        )


def _targets(records: Sequence[Record], models: Domain) -> Iterator[Figure]:
    terms = [r for r in _deciding(records, "target") if r.n >= _ENOUGH]
    terms.sort(key=lambda r: (-r.value, r.group))
    if terms:
        yield Figure(
            "target-terms",
            "By target term",
            f"{terms[0].measure} of the items about each term with at least {_ENOUGH} items, with its 95% interval. "
            f"{SINGLE_TERMS}{_side_by_side(terms)}",
            _forests(terms, models),
            legend=model_keys(models, (r.model for r in terms)),
            wide=False,
            folded=True,
        )


def _deciding(records: Sequence[Record], view: str) -> list[Record]:
    """The records that give the verdicts of a view: of pooled parts if there are any that are not contradictory."""
    decisive = [record for row in rows_of(records, view) if (record := deciding(row)) is not None]
    unpooled = {(any_record(row).model, any_record(row).language) for row in rows_of(records) if contradictory(row)}
    whole = {(r.model, r.language) for r in decisive if r.part == OVERALL} - unpooled
    decisive = [r for r in decisive if (r.part == OVERALL) == ((r.model, r.language) in whole)]
    return [r for r in decisive if r.measure == decisive[0].measure]


def _forests(records: Sequence[Record], models: Domain) -> tuple[Panel, ...]:
    """A panel for each language and part, on one scale."""
    ends = [end for r in records for end in (r.value, r.low, r.high) if end is not None]
    scale = measure_named(records[0].measure).span(ends)
    panels = []
    for (language, part), group in split(records, "language", "part"):
        title = language_name(language) + ("" if pooled(part) else f", {part}")
        panels.append(Panel(title, forest(group, models, scale)))
    return tuple(panels)


def _differences(scores: pd.DataFrame, models: Domain) -> Iterator[Figure]:
    if not {"more", "less"} <= set(scores["role"]):
        return
    table = pair_differences(scores.dropna(axis="columns", how="all"))
    panels = tuple(
        Panel(
            f"Protocol {protocol}" if table["protocol"].nunique() > 1 else "",
            differences(rows, models),
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
        legend=model_keys(models, table["model"]),
    )
