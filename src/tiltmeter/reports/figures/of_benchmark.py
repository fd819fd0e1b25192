"""Which figures there are of a benchmark: whatever its records and scores can be drawn as."""

from collections.abc import Iterator, Sequence

import pandas as pd

from tiltmeter.measures import deciding, measure_named
from tiltmeter.measures.pairs import differences as pair_differences
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.reports.figures.differences import differences
from tiltmeter.reports.figures.figure import Figure, Key, Panel
from tiltmeter.reports.figures.forest import forest
from tiltmeter.reports.figures.heat_map import UNSAID, heat_map
from tiltmeter.reports.figures.ranks import feminine_ranks
from tiltmeter.reports.figures.series import Domain, language_keys, model_keys, ordered
from tiltmeter.reports.figures.stereotypes import stereotypes
from tiltmeter.reports.figures.tilt_map import tilt_map
from tiltmeter.reports.figures.translation_map import translation_map
from tiltmeter.reports.languages import language_name
from tiltmeter.reports.record_rows import ALL_MODELS, RecordRow, contradictory, one, rows_of, split, summaries
from tiltmeter.reports.style import MEN, WOMEN

# What is said wherever single target terms are shown.
SINGLE_TERMS = (
    "Single terms are unreliable: with some 27 items each, the order of the terms in one half of the items says little "
    "about that in the other half (reliability .25)."
)
_ENOUGH = 10  # items about a term, for it to stand in a figure
_KINDS = (Key("stereotypes about women", WOMEN), Key("stereotypes about men", MEN))


def figures_of(records: Sequence[Record], scores: pd.DataFrame, models: Domain) -> list[Figure]:
    """The figures of one benchmark. `models` are all models of the report, so that each keeps its colour."""
    records = [record for record in records if record.model != ALL_MODELS]
    rows = summaries(rows_of(records))
    return [
        *_tilt_map([row for row in rows if {"SS", "LMS", "ICAT"} <= row.keys()], models),
        *_translation_map([row for row in rows if {"f_s", "f_m"} <= row.keys()], models),
        *_heat_map(rows),
        *_bias_types(records, models),
        *_targets(records, models),
        *_differences(scores, models),
        *_stereotypes(records),
        *_ranks(records),
    ]


def _tilt_map(rows: Sequence[RecordRow], models: Domain) -> Iterator[Figure]:
    if rows:
        yield Figure(
            "tilt-map",
            "Tilt map",
            "Level is SS 50, at the dotted line. The ring marks the ideal: level, and sense always above nonsense. "
            f"Along a grey line ICAT is the same. The bars are 95% intervals.{_side_by_side([r['SS'] for r in rows])}",
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
            "A system in the ring uses both genders alike, whatever the sentence is about. To the right it makes "
            "everybody a man; upwards it goes by the stereotype. No system can be above the dashed line.",
            (Panel("", translation_map(rows, models)),),
            legend=model_keys(models, (row["f_s"].model for row in rows)),
        )


def _heat_map(rows: Sequence[RecordRow]) -> Iterator[Figure]:
    found = [record for row in rows if (record := deciding(row)) is not None]
    if len({(r.model, r.language) for r in found}) < 2:
        return
    measure = measure_named(found[0].measure)
    found = [r for r in found if r.measure == measure.name]
    # Numbers that must not be compared do not share a panel.
    by_panel: dict[tuple[str, ...], list[Record]] = {}
    for r in found:
        by_panel.setdefault((r.part, *_asked(r)), []).append(r)
    caption = (
        f"{measure.axis[0].upper()}{measure.axis[1:]}; {measure.ideal:g} is no bias. Orange is towards stereotypes, "
        "blue against them; a dot marks a significant bias."
    )
    if any(r.verdict is not None and r.verdict.kind in UNSAID for r in found):
        caption += " A question mark: not interpretable, or parts that contradict each other."
    if len({key[1:] for key in by_panel}) > 1:
        caption += " Models of different kinds, or asked by different protocols, stand apart: they do not compare."
    yield Figure(
        "heat-map",
        f"{measure.name} by model and language",
        caption,
        tuple(Panel(_panel_title(key, list(by_panel)), heat_map(some)) for key, some in by_panel.items()),
    )


def _asked(record: Record) -> tuple[str, str, str]:
    """What numbers have to share to be compared: kind of model, family of answers, protocol."""
    return record.kind or "unknown kind", record.family or "", record.protocol


def _panel_title(key: tuple[str, ...], keys: Sequence[tuple[str, ...]]) -> str:
    """What tells a panel from the others: part, kind of model, family of answers, protocol."""
    different = [len(set(values)) > 1 for values in zip(*keys, strict=True)]
    return ", ".join(value for value, tells in zip(key, different, strict=True) if tells and value)


def _side_by_side(records: Sequence[Record]) -> str:
    """A sentence for figures in which models stand side by side that do not compare."""
    parts: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for r in records:
        parts.setdefault((r.part, r.language), set()).add(_asked(r))
    if all(len(ways) == 1 for ways in parts.values()):
        return ""
    return " Models of different kinds, or asked by different protocols, stand side by side: they do not compare."


def _bias_types(records: Sequence[Record], models: Domain) -> Iterator[Figure]:
    found = [*_deciding(records, "bias_type"), *_deciding(records, "all")]  # all of them last, under the bias types
    if any(r.view == "bias_type" for r in found):
        yield Figure(
            "bias-types",
            "By bias type",
            f"{found[0].measure} with its 95% interval; the dotted line is no bias. Fewer items make an interval "
            "wider. The table of all numbers says which of them are significant after correction for all of them."
            f"{_side_by_side(found)}",
            _forests(found, models),
            legend=model_keys(models, (r.model for r in found)),
            wide=False,
        )


def _targets(records: Sequence[Record], models: Domain) -> Iterator[Figure]:
    found = [r for r in _deciding(records, "target") if r.n >= _ENOUGH]
    found.sort(key=lambda r: (-r.value, r.group))
    if found:
        yield Figure(
            "target-terms",
            "By target term",
            f"{found[0].measure} of the items about each term with at least {_ENOUGH} items, with its 95% interval. "
            f"{SINGLE_TERMS}{_side_by_side(found)}",
            _forests(found, models),
            legend=model_keys(models, (r.model for r in found)),
            wide=False,
            folded=True,
        )


def _deciding(records: Sequence[Record], view: str) -> list[Record]:
    """The records that give the verdicts of a view; of pooled parts where there are such, unless they contradict."""
    found = [record for row in rows_of(records, view) if (record := deciding(row)) is not None]
    torn = {(one(row).model, one(row).language) for row in rows_of(records) if contradictory(row)}
    pooled = {(r.model, r.language) for r in found if r.part == OVERALL} - torn
    found = [r for r in found if (r.part == OVERALL) == ((r.model, r.language) in pooled)]
    return [r for r in found if r.measure == found[0].measure]


def _forests(found: Sequence[Record], models: Domain) -> tuple[Panel, ...]:
    """A panel for each language and part, on one scale."""
    ends = [end for r in found for end in (r.value, r.low, r.high) if end is not None]
    scale = measure_named(found[0].measure).span(ends)
    panels = []
    for (language, part), some in split(found, "language", "part"):
        title = language_name(language) + (f", {part}" if part not in (OVERALL, "all") else "")
        panels.append(Panel(title, forest(some, models, scale)))
    return tuple(panels)


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
        "How much likelier the more stereotypical sentence of each pair is. A model without bias has as much to "
        "the right of the dotted line as to the left. Point at a curve for the share.",
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
