"""Slopes of measures by the size of models, within model families.

A slope is the change of a measure if the number of parameters is ten times larger. The first interval is for these
models; only the items are a sample. With enough models there is a second interval for models like these, which treats
models and items as samples (see `measures.size_regression`).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tiltmeter.comparing.attributes import DescribedModel, ModelAttributes
from tiltmeter.comparing.cells import Cell, build_all_cells, list_common_fixed_factors, restrict_cells, shorten_names
from tiltmeter.comparing.comparability import Across, explain_incomparable, list_comparison_warnings
from tiltmeter.comparing.comparable_cells import (
    ComparableCells,
    describe_unreliable_cells,
    find_unreliable_cells,
    group_comparable_cells,
    list_common_quantities,
    reject_duplicates,
    reject_missing_measures,
    select_reliable_cells,
)
from tiltmeter.comparing.comparison import complete_measure_names
from tiltmeter.comparing.shared_answers import SharedAnswers, build_shared_answers
from tiltmeter.comparing.size_slopes import POOLED, SizeComparison, SizedModel, SizeSlope
from tiltmeter.errors import UsageError
from tiltmeter.measures.contrasts import estimate_item_mean
from tiltmeter.measures.estimates import Mean, Share
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.multiple_testing import adjust_holm, group_indexes_by_key
from tiltmeter.measures.size_regression import estimate_slope
from tiltmeter.measures.verdict import Verdict
from tiltmeter.measures.verdict_rule import PORTION, WHOLE_RUN, Families
from tiltmeter.runs.file_digests import describe_changed_files
from tiltmeter.runs.fixed_factors import describe_fixed_factors
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import list_sample_notes

_SIZE = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:e\+?\d+)?)\s*([kmbt]?)", re.IGNORECASE)
# Sizes that differ by less than this factor count as equal. A slope over a smaller difference would extrapolate too
# far.
ONE_SIZE = 1.25
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


def compare_sizes(
    runs: Sequence[tuple[str, Result]],
    attributes: ModelAttributes,
    *,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
    families: Families = PORTION,
) -> SizeComparison:
    """Return the slopes of measures by size: for each model family with two or more sizes, and over all families."""
    measures = complete_measure_names(measures)
    cells = build_all_cells(runs)
    cells = restrict_cells(cells, where) if where else cells
    reject_missing_measures(cells, measures)
    notes = [sentence for run, result in runs for sentence in describe_changed_files(result.changed, run)]
    sized = _collect_sizes(runs, cells, attributes, notes)
    unreliable = find_unreliable_cells(runs, where)
    slopes: list[SizeSlope] = []
    used = (cell for cell in cells if cell.model in sized)
    for place in group_comparable_cells(used, across, lambda cell: (cell.benchmark, cell.language)):
        if len(place) > 1:
            one, other = place[0].cells[0], place[1].cells[0]
            notes.append(f"Not used in one regression: {explain_incomparable(one, other, across)}")
        for alike in place:
            reject_duplicates(alike.cells)
            for quantity in list_common_quantities(alike.cells, measures):
                slopes += _estimate_slopes(quantity, alike, sized, unreliable, across, notes)
    if not slopes:
        reason = next((note for note in notes if note.startswith("Not compared")), notes[-1] if notes else "")
        raise UsageError(reason or "The runs contain no scores; repeat them.")
    notes += dict.fromkeys(sample for _, result in runs for sample in list_sample_notes(result.manifest.data))
    notes += filter(None, [describe_fixed_factors(list_common_fixed_factors(runs))])
    return SizeComparison(_correct_slopes(slopes, families), list(dict.fromkeys(notes)))


def parse_parameter_count(model: DescribedModel) -> float | None:
    """Return the number of parameters of a model from its attribute `parameters` or `size`; None if it has neither.

    >>> parse_parameter_count(DescribedModel("m", {"size": "1.4b"})), parse_parameter_count(DescribedModel("m"))
    (1400000000.0, None)
    """
    given = model.attributes.get("parameters", model.attributes.get("size"))
    if given is None:
        return None
    match = _SIZE.fullmatch(str(given).strip())
    number = float(match[1]) * _UNITS[match[2].lower()] if match else math.nan
    if isinstance(given, bool) or not 0 < number < math.inf:
        raise UsageError(f"The size of {model.name} is {given!r}; write a number of parameters, such as 124e6 or 1.4b.")
    return number


def _collect_sizes(
    runs: Sequence[tuple[str, Result]], cells: Sequence[Cell], attributes: ModelAttributes, notes: list[str]
) -> dict[str, tuple[str, float]]:
    """Return a mapping from model to (family, number of parameters); models are left out if one of these is unknown."""
    entries = {entry.name: entry for _, result in runs for entry in result.manifest.models}
    sized: dict[str, tuple[str, float]] = {}
    lacking: dict[str, list[str]] = {"family": [], "number of parameters": []}
    for model in dict.fromkeys(cell.model for cell in cells):
        described = attributes.describe_model(model, entries.get(model))
        family, parameters = described.get_attribute_texts().get("family"), parse_parameter_count(described)
        if family is None or parameters is None:
            lacking["number of parameters" if family else "family"].append(model)
        else:
            sized[model] = (family, parameters)
    for attribute, models in lacking.items():
        if models:
            notes.append(
                f"Left out, because the {attribute} is not given: {shorten_names(models)}; add it to plan.toml, or "
                "to a file for --attributes."
            )
    return sized


def _estimate_slopes(
    quantity: Quantity,
    alike: ComparableCells,
    sized: Mapping[str, tuple[str, float]],
    unreliable: Mapping[tuple[str, ...], Verdict],
    across: Sequence[Across],
    notes: list[str],
) -> Iterator[SizeSlope]:
    together = alike.cells
    where = f"on {together[0].location}"
    cells = select_reliable_cells(together, quantity, unreliable)
    kept = {id(cell) for cell in cells}
    dropped = [cell for cell in together if id(cell) not in kept]
    notes += describe_unreliable_cells(dropped, unreliable, f"{where} in {quantity.name}", lambda cell: cell.model)
    sizes_of: dict[str, list[float]] = {}
    for cell in cells:
        family, parameters = sized[cell.model]
        sizes_of.setdefault(family, []).append(parameters)
    single = [family for family, sizes in sizes_of.items() if max(sizes) < ONE_SIZE * min(sizes)]
    if single:
        notes.append(
            f"Left out {where}, because the models of a family differ in size by less than a factor of {ONE_SIZE}: "
            f"{shorten_names(single)}."
        )
    cells = [cell for cell in cells if sized[cell.model][0] not in single]
    if not cells:
        return
    shared = build_shared_answers(cells, quantity, across, where, lambda cell: cell.model, notes)
    if shared is None:
        return
    notes += list_comparison_warnings((cells[0], cell, quantity.measure) for cell in cells[1:])
    families = np.array([sized[cell.model][0] for cell in cells], dtype=object)
    sizes = np.log10([sized[cell.model][1] for cell in cells])
    models = tuple(
        _build_sized_model(quantity, cell, shared, row, *sized[cell.model]) for row, cell in enumerate(cells)
    )
    names = list(dict.fromkeys(families.tolist()))
    for family in [*names, *([POOLED] if len(names) > 1 else [])]:
        rows = np.full(len(cells), True) if family == POOLED else np.asarray(families == family)
        estimate = estimate_slope(
            shared.answers[rows],
            sizes[rows],
            families[rows],
            shared.weights,
            shared.labels,
            shared.factors,
            preference=quantity.values.preference,
        )
        if estimate is None:
            same = (
                "models gave the same answers"
                if np.ptp(shared.answers[rows], axis=0).max() == 0
                else "items all have the same slope"
            )
            notes.append(f"Left out {where}: {family}, whose {same} in {quantity.name}.")
            continue
        yield SizeSlope(
            subject=alike.qualify_subject(f"{cells[0].benchmark}:{cells[0].language}"),
            benchmark=cells[0].benchmark,
            part=cells[0].part,
            quantity=quantity,
            family=str(family),
            models=tuple(model for model, is_in in zip(models, rows, strict=True) if is_in),
            estimate=estimate,
            left_out=shared.left_out,
        )


def _build_sized_model(
    quantity: Quantity, cell: Cell, shared: SharedAnswers, row: int, family: str, parameters: float
) -> SizedModel:
    """Return a model with its value and interval; the interval of a percentage is between 0 and 100, as in a run."""
    answers = shared.answers[row]
    estimate: Mean | Share = estimate_item_mean(answers, shared.weights, shared.factors, shared.labels)
    if quantity.values.preference:
        estimate = Share.from_values(answers, shared.factors)
    return SizedModel(cell.model, family, parameters, estimate.value, *estimate.interval())


def _correct_slopes(slopes: Sequence[SizeSlope], families: Families) -> list[SizeSlope]:
    """Correct the p-values by Holm's method.

    A test family has the slopes of one measure in one part and language, except the common slope within all model
    families, which is corrected separately. The corrected p-value for other models like these is never smaller than the
    corrected p-value for these models.
    """
    corrected = list(slopes)

    def get_test_family_key(slope: SizeSlope) -> tuple[str | bool, ...]:
        if families == WHOLE_RUN:
            return ()
        return slope.subject, slope.part, slope.quantity.name, slope.family == POOLED

    for indexes in group_indexes_by_key(slopes, get_test_family_key):
        for index, p_holm in zip(indexes, adjust_holm([slopes[i].estimate.p_value for i in indexes]), strict=True):
            corrected[index] = replace(corrected[index], p_holm=p_holm, tests=len(indexes))
        members = [(index, over) for index in indexes if (over := slopes[index].estimate.over_members) is not None]
        for (index, over), p_holm in zip(members, adjust_holm([over.p_value for _, over in members]), strict=True):
            of_models = replace(over, p_holm=max(p_holm, corrected[index].p_holm))
            estimate = replace(slopes[index].estimate, over_members=of_models)
            corrected[index] = replace(corrected[index], estimate=estimate)
    return corrected
