"""Which figures there are of a benchmark: whatever its records and scores can be drawn as."""

from collections.abc import Iterator, Sequence

import pandas as pd

from tiltmeter.measures.pairs import differences as pair_differences
from tiltmeter.measures.records import Record
from tiltmeter.reports.figures.differences import differences
from tiltmeter.reports.figures.figure import Figure, Key, Panel
from tiltmeter.reports.figures.forest import forest
from tiltmeter.reports.figures.heat_map import heat_map
from tiltmeter.reports.figures.ranks import feminine_ranks
from tiltmeter.reports.figures.series import Domain, language_keys, model_keys, ordered
from tiltmeter.reports.figures.stereotypes import stereotypes
from tiltmeter.reports.figures.tilt_map import tilt_map
from tiltmeter.reports.figures.translation_map import translation_map
from tiltmeter.reports.languages import language_name
from tiltmeter.reports.leans import LEANS, span
from tiltmeter.reports.rows import ALL_MODELS, OVERALL, Row, all_rows, split, summaries
from tiltmeter.reports.style import MEN, WOMEN

# What a heat map is of, if there is such a measure: the paper's own before the simpler one.
_MAPPED = ("SS", "S_JSD x 1e3", "CPS", "g_s", "f_s")
_BIAS_TYPE = ("SS", "CPS")
_KINDS = (Key("stereotypes about women", WOMEN), Key("stereotypes about men", MEN))


def figures_of(records: Sequence[Record], scores: pd.DataFrame, models: Domain) -> list[Figure]:
    """The figures of one benchmark. `models` are all models of the report, so that each keeps its colour."""
    records = [record for record in records if record.model != ALL_MODELS]
    rows = summaries(all_rows(records))
    return [
        *_tilt_map([row for row in rows if {"SS", "LMS", "ICAT"} <= row.keys()], models),
        *_translation_map([row for row in rows if {"f_s", "f_m"} <= row.keys()], models),
        *_heat_map(rows),
        *_forest(records, models),
        *_differences(scores, models),
        *_stereotypes(records),
        *_ranks(records),
    ]


def _tilt_map(rows: Sequence[Row], models: Domain) -> Iterator[Figure]:
    if rows:
        yield Figure(
            "tilt-map",
            "Tilt map",
            "Level is SS 50, at the dashed line. The ring marks the ideal: level, and sense always above nonsense. "
            "Along a grey line ICAT is the same. The bars are 95% intervals.",
            (Panel("", tilt_map(rows, models)),),
            legend=(
                *model_keys(models, (row["SS"].model for row in rows)),
                *language_keys(ordered(language_name(row["SS"].language) for row in rows)),
            ),
        )


def _translation_map(rows: Sequence[Row], models: Domain) -> Iterator[Figure]:
    if rows:
        yield Figure(
            "translation-map",
            "Stereotypes against men as the norm",
            "A system in the ring uses both genders alike, whatever the sentence is about. To the right it makes "
            "everybody a man; upwards it goes by the stereotype. No system can be above the dashed line.",
            (Panel("", translation_map(rows, models)),),
            legend=model_keys(models, (row["f_s"].model for row in rows)),
        )


def _heat_map(rows: Sequence[Row]) -> Iterator[Figure]:
    measure = next((name for name in _MAPPED if any(name in row for row in rows)), None)
    found = [row[measure] for row in rows if measure in row] if measure else []
    parts = {record.part for record in found}
    panels = [
        Panel(part if len(parts) > 1 else "", heat_map([r for r in found if r.part == part]))
        for part in dict.fromkeys(r.part for r in found)
    ]
    if measure and len({(r.model, r.language) for r in found}) > 1:
        yield Figure(
            "heat-map",
            f"{measure} by model and language",
            f"{LEANS[measure].says[0].upper()}{LEANS[measure].says[1:]}; {LEANS[measure].ideal:g} is no lean. Orange "
            "leans towards stereotypes, blue against them; a dot marks what is more than noise.",
            tuple(panels),
        )


def _forest(records: Sequence[Record], models: Domain) -> Iterator[Figure]:
    found = [r for r in records if r.view in ("bias_type", "all") and r.measure in _BIAS_TYPE]
    with_overall = {(r.model, r.language) for r in found if r.part == OVERALL}
    found = [r for r in found if r.part == OVERALL or (r.model, r.language) not in with_overall]
    if not any(r.view == "bias_type" for r in found):
        return
    found.sort(key=lambda r: (r.view == "all", r.group))  # all of them last, under the bias types
    scale = span(found)
    panels = []
    for (language, part), some in split(found, "language", "part"):
        title = language_name(language) + (f", {part}" if part not in (OVERALL, "all") else "")
        panels.append(Panel(title, forest(some, models, scale)))
    yield Figure(
        "bias-types",
        "By bias type",
        f"{found[0].measure} with its 95% interval. An interval that crosses the dashed line is no more than noise. "
        "Fewer items make it wider.",
        tuple(panels),
        legend=model_keys(models, (r.model for r in found)),
        wide=False,
    )


def _differences(scores: pd.DataFrame, models: Domain) -> Iterator[Figure]:
    if "direction" not in scores.columns or not {"more", "less"} <= set(scores["role"]):
        return
    table = pair_differences(scores.dropna(axis="columns", how="all"))
    panels = tuple(
        Panel(
            f"Protocol {protocol}" if table["protocol"].nunique() > 1 else "",
            differences(some, models),
        )
        for protocol, some in table.groupby("protocol", sort=False)
    )
    yield Figure(
        "differences",
        "More minus less",
        "How much likelier the more stereotypical sentence of each pair is. A model that does not lean has as much to "
        "the right of the dashed line as to the left. Point at a curve for the share.",
        panels,
        legend=model_keys(models, table["model"]),
    )


def _stereotypes(records: Sequence[Record]) -> Iterator[Figure]:
    found = [r for r in records if r.view == "stereotype" and r.measure in ("q_i", "p_i") and r.part != OVERALL]
    if not found:
        return
    rate = found[0].measure
    ends = [end for r in found for end in (r.value, r.low, r.high) if end]
    scale = (0.0, 1.0) if rate == "p_i" else (min(ends) * 0.95, max(ends) * 1.05)
    several = len({r.language for r in found}) > 1
    panels = [
        Panel(f"{model}, {language_name(language)}" if several else model, stereotypes(some, scale))
        for (model, language), some in split(found, "model", "language")
    ]
    what = (
        "Only how the stereotypes stand to each other means something: the two words differ in how common they are. "
        if rate == "q_i"
        else ""
    )
    yield Figure(
        "stereotypes",
        "The sixteen stereotypes",
        f"A model that goes by stereotypes has those about men to the right of those about women. {what}The lines are "
        "95% intervals; several lines for a stereotype are the templates it was asked in.",
        tuple(panels),
        legend=_KINDS,
        wide=False,
    )


def _ranks(records: Sequence[Record]) -> Iterator[Figure]:
    found = [r for r in records if r.measure == "feminine rank" and r.part != OVERALL]
    if len({(r.model, r.part, r.language) for r in found}) > 1:
        yield Figure(
            "feminine-ranks",
            "Feminine ranks",
            "The place of each stereotype among the sixteen, from the most feminine to the most masculine, over all "
            "models, languages and templates. Boxes hold the middle half.",
            (Panel("", feminine_ranks(found)),),
            legend=_KINDS,
        )
