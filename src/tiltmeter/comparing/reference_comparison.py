"""Compare runs with reference results: find the comparable ones, test the differences, and build the positions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from tiltmeter.comparing.cells import (
    ITEM_TRANSLATION,
    Cell,
    NamedRuns,
    build_all_cells,
    build_cells,
    list_attribute_columns,
    restrict_cells,
    shorten_names,
)
from tiltmeter.comparing.comparability import (
    ACROSS,
    PROMPTING,
    Across,
    list_comparison_warnings,
    list_differing_conditions,
)
from tiltmeter.comparing.comparable_cells import find_unreliable_cells
from tiltmeter.comparing.comparison import complete_measure_names, compute_differences, mark_unreliable_sides
from tiltmeter.comparing.paired_difference import Difference, Side, correct_test_families, get_test_family
from tiltmeter.comparing.reference_position import LeftOut, Position, ReferenceComparison, Standing
from tiltmeter.comparing.reference_sets import References
from tiltmeter.errors import UsageError
from tiltmeter.measures.contrasts import estimate_item_mean
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.multiple_testing import adjust_holm, group_indexes_by_key
from tiltmeter.measures.pairwise_tests import SharedItems, compute_distance_p_values
from tiltmeter.measures.records import KEY_COLUMNS, Record
from tiltmeter.measures.verdict import Verdict
from tiltmeter.measures.verdict_rule import PORTION, Families
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import list_sample_notes

# Clauses that follow the words "reference models".
_REASONS = {
    PROMPTING: "measured by the other answer type (likelihoods or prompts)",
    "kinds": "of another or unknown kind",
    "protocols": "measured by another protocol",
    "editions": "measured on other files of the data set",
    "tokenizers": "with another tokenizer",
    "contradictory": "with a contradictory result",
    "not interpretable": "with a result that is not interpretable",
}
_NO_ITEMS = "without common items"
# Two results are the same if this share of their scores is equal up to rounding.
_COPIED, _ROUNDING = 0.99, 1e-3
# Two values that differ by less are the same value.
_SAME_VALUE = 1e-6
_ITEM_KEY = ["benchmark", "part", "language", "item"]


def compare_with_references(
    runs: NamedRuns,
    references: References,
    source: str,
    *,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
    families: Families = PORTION,
) -> ReferenceComparison:
    """Return the positions of named runs among reference results; `source` is the value of `--with`.

    The default measure of a result is its primary measure. `measures`, `where`, `across` and `families` have the same
    meaning as in `compare`.
    """
    measures = complete_measure_names(measures)
    facts = _Facts.collect([*runs, *references.runs], where)
    cells = build_all_cells(runs)
    cells = restrict_cells(cells, where) if where else cells
    candidates = {name: _build_reference_cells(result, references) for name, result in runs}
    drafts = [
        _draft_position(cell, quantity, candidates[cell.run], facts, across)
        for cell in cells
        for quantity in _select_quantities(cell, measures)
    ]
    if not drafts:
        raise UsageError(_explain_missing_measures(cells, measures))
    positions = _test_drafts(drafts, facts, families)
    if not any(position.standings or position.same for position in positions):
        raise UsageError(_explain_missing_positions(positions, source))
    return ReferenceComparison(source, positions, list(_list_notes(runs, references, positions)))


@dataclass(frozen=True, slots=True)
class _Facts:
    """The records of all runs and reference results, and the verdicts on their unreliable cells."""

    runs: NamedRuns
    where: Mapping[str, str]
    unreliable: Mapping[tuple[str, ...], Verdict]
    records: Mapping[tuple[str, ...], Record]

    @classmethod
    def collect(cls, runs: NamedRuns, where: Mapping[str, str] | None) -> "_Facts":
        view, group = next(iter(where.items())) if where else ("all", None)
        records = {
            (name, *(getattr(record, column) for column in KEY_COLUMNS), record.measure): record
            for name, result in runs
            for record in result.records
            if record.view == view and (group is None or record.group == group) and len(where or {}) < 2
        }
        return cls(runs, where or {}, find_unreliable_cells(runs, where), records)

    def find_record(self, cell: Cell, quantity: Quantity) -> Record | None:
        """Return the record of a measure over the items of a cell."""
        return self.records.get((*cell.key, quantity.name))

    def find_verdict(self, cell: Cell, quantity: Quantity) -> Verdict | None:
        """Return the verdict of a cell if it is contradictory or not interpretable and the measure is about bias."""
        return self.unreliable.get(cell.key) if quantity.measure.is_about_bias else None


@dataclass(frozen=True, slots=True)
class _Draft:
    """A position before the correction for multiple tests; `same` are results of the same model."""

    position: Position
    differences: list[Difference] = field(default_factory=list)
    same: list[Difference] = field(default_factory=list)


def _select_quantities(cell: Cell, measures: Sequence[str]) -> list[Quantity]:
    """Return the named measures that a cell has; without names, its primary measure."""
    if measures:
        return [quantity for quantity in cell.list_quantities() if quantity.name in measures]
    primary = cell.find_primary_quantity()
    return [] if primary is None else [primary]


def _build_reference_cells(result: Result, references: References) -> list[Cell]:
    """Return the cells of the reference results, restricted to the items of a run, with the attributes of the items.

    Reference results contain no attributes, because these could be texts.
    """
    columns = [name for name in list_attribute_columns(result.scores) if name != ITEM_TRANSLATION]
    items = result.scores[[*_ITEM_KEY, *columns]].drop_duplicates(_ITEM_KEY)
    cells: list[Cell] = []
    for name, reference in references.runs:
        scores = reference.scores.merge(items, on=_ITEM_KEY)
        if not scores.empty:
            cells += build_cells(name, replace(reference, scores=scores))
    return cells


def _draft_position(
    cell: Cell, quantity: Quantity, candidates: Sequence[Cell], facts: _Facts, across: Sequence[Across]
) -> _Draft:
    record = facts.find_record(cell, quantity)
    position = Position(cell, quantity, record.value if record else float("nan"), record.interval if record else None)
    if verdict := facts.find_verdict(cell, quantity):
        return _Draft(replace(position, reason=f"the result is {verdict.kind}: {verdict.reason}"))
    left_out: dict[str, list[Cell]] = {}
    accepted: list[Cell] = []
    here = (cell.benchmark, cell.part, cell.language)
    for other in candidates:
        if (other.benchmark, other.part, other.language) == here:
            reason = _find_obstacle(cell, other, quantity, facts, across)
            left_out.setdefault(reason, []).append(other) if reason else accepted.append(other)
    accepted = _drop_copies(accepted)
    pairs = [(other, compute_differences(cell, other, [quantity.name], across)) for other in accepted]
    if alone := [other for other, differences in pairs if not differences]:
        left_out[_NO_ITEMS] = alone
    differences = [_label_reference(one, accepted) for _, found in pairs for one in found]
    same = [one for one in differences if _is_same_model(one)]
    position = replace(position, left_out=tuple(_describe_left_out(left_out)))
    if record is None and differences:
        items = cell.list_items(quantity)
        value = differences[0].contrast.left
        position = replace(position, value=value, interval=_estimate_interval(cell, quantity, items))
    if not differences:
        reason = "there is no reference result" if not left_out else "no reference result is comparable"
        position = replace(position, reason=f"{reason} on {cell.location}")
    return _Draft(position, [one for one in differences if one not in same], same)


def _find_obstacle(cell: Cell, other: Cell, quantity: Quantity, facts: _Facts, across: Sequence[Across]) -> str:
    """Return why a reference result is not comparable; an empty text if it is comparable."""
    lacking = [name for name in list_differing_conditions(cell, other, quantity.measure) if name not in across]
    if lacking:
        return lacking[0]
    verdict = facts.find_verdict(other, quantity)
    return verdict.kind if verdict else ""


def _describe_left_out(left_out: Mapping[str, Sequence[Cell]]) -> Iterator[LeftOut]:
    for reason, cells in left_out.items():
        models = tuple(dict.fromkeys(cell.model for cell in cells))
        yield LeftOut(_REASONS.get(reason, reason), models, f"--across {reason}" if reason in ACROSS else "")


def _drop_copies(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells; if several are the same result of one model, only the first of them is returned.

    Two publications may have released scores of the same model, or one publication the same scores in two files.
    """
    kept: list[Cell] = []
    for cell in cells:
        if not any(_get_short_name(cell.model) == _get_short_name(one.model) and _is_copy(cell, one) for one in kept):
            kept.append(cell)
    return kept


def _is_copy(cell: Cell, other: Cell) -> bool:
    """Return whether nearly all scores of two cells are equal up to rounding."""
    if not (cell.scores.index.equals(other.scores.index) and cell.scores.columns.equals(other.scores.columns)):
        return False
    ours, theirs = (one.scores.to_numpy(dtype=float) for one in (cell, other))
    return bool(np.isclose(ours, theirs, rtol=_ROUNDING, atol=0.0, equal_nan=True).mean() >= _COPIED)


def _is_same_model(difference: Difference) -> bool:
    """Return whether a reference result is of the same model as the run: equal names, or equal scores of all items."""
    return difference.left.cell.model == difference.right.cell.model or difference.contrast.test == "identical"


def _get_short_name(model: str) -> str:
    return model.rpartition("/")[2].lower()


def _label_reference(difference: Difference, accepted: Sequence[Cell]) -> Difference:
    """Return the difference with a label that identifies the reference model, if necessary with its set or run."""
    cell, own = difference.right.cell, difference.left.cell
    alike = [other for other in accepted if other.model == cell.model]
    label = cell.model
    if len(alike) > 1 or cell.model == own.model:
        sources = [_get_source(other) for other in alike]
        label += f" ({cell.run if sources.count(_get_source(cell)) > 1 else _get_source(cell)})"
    return replace(difference, left=Side(own.model, own), right=Side(label, cell))


def _get_source(cell: Cell) -> str:
    """Return the name of the set that a reference result belongs to."""
    return cell.run.partition("/")[0]


def _test_drafts(drafts: Sequence[_Draft], facts: _Facts, families: Families) -> list[Position]:
    """Return the positions, with tests that are corrected in their test families."""
    listed = [one for draft in drafts for one in draft.differences]
    corrected = mark_unreliable_sides(correct_test_families(listed, families), facts.runs, facts.where)
    p_values = _test_distances(listed)
    for indexes in group_indexes_by_key(listed, lambda one: get_test_family(one, families)):
        for index, p_value in zip(indexes, adjust_holm([p_values[index] for index in indexes]), strict=True):
            p_values[index] = p_value
    standings = iter([_build_standing(one, p, facts) for one, p in zip(corrected, p_values, strict=True)])
    positions = []
    for draft in drafts:
        own = [next(standings) for _ in draft.differences]
        same = tuple(_build_standing(one, 1.0, facts) for one in draft.same)
        ordered = tuple(sorted(own, key=lambda standing: -standing.value))
        positions.append(replace(draft.position, standings=ordered, same=same))
    return positions


def _test_distances(differences: Sequence[Difference]) -> list[float]:
    """Return, for each difference, the p-value of the hypothesis that both models are equally far from the ideal."""
    p_values = [one.contrast.p_value for one in differences]
    groups = group_indexes_by_key(
        differences, lambda one: (one.left.cell.key, one.quantity.name, tuple(pd.util.hash_pandas_object(one.items)))
    )
    for indexes in groups:
        group = [differences[index] for index in indexes]
        # If the ideal is at the end of the scale, two values are equally far from it only if they are equal.
        if not group[0].quantity.measure.ideal_at_bound:
            for index, p_value in zip(indexes, _test_same_items(group), strict=True):
                p_values[index] = p_value
    return p_values


def _test_same_items(differences: Sequence[Difference]) -> list[float]:
    """Return the p-values of differences from the same model on the same items; one call for all is much faster."""
    first = differences[0]
    cell, quantity, items = first.left.cell, first.quantity, first.items
    cells = [cell, *(one.right.cell for one in differences)]
    values = np.vstack([one.compute_item_values(quantity, items)[0] for one in cells])
    shared = SharedItems(
        cell.get_strata(quantity, items), cell.get_stratum_sides(quantity, items), cell.build_factors(quantity, items)
    )
    p_values: list[float] = compute_distance_p_values(quantity, values, shared)[0, 1:].tolist()
    return p_values


def _build_standing(difference: Difference, p_farther: float, facts: _Facts) -> Standing:
    cell, quantity = difference.right.cell, difference.quantity
    record = facts.find_record(cell, quantity)
    # The record is about all items of the reference result, which may be more than the items in common.
    if record is not None and abs(record.value - difference.contrast.right) < _SAME_VALUE:
        return Standing(difference, p_farther, record.interval)
    return Standing(difference, p_farther, _estimate_interval(cell, quantity, difference.items))


def _estimate_interval(cell: Cell, quantity: Quantity, items: pd.Index) -> Interval | None:
    """Return the 95% interval of a mean over items; None for other measures, whose intervals only records have."""
    values = cell.compute_item_values(quantity, items)
    if len(values) > 1 or quantity.values.preference:
        return None
    strata, sides = cell.get_strata(quantity, items), cell.get_stratum_sides(quantity, items)
    weights = np.full(len(items), 1 / len(items))
    if strata is not None:
        weights = quantity.values.compute_weights(strata, sides)
    return estimate_item_mean(values[0], weights, cell.build_factors(quantity, items), strata).interval()


def _list_notes(runs: NamedRuns, references: References, positions: Sequence[Position]) -> Iterator[str]:
    yield from references.notes
    standings = [standing for position in positions for standing in position.standings]
    sides = [
        (one.difference.left.cell, one.difference.right.cell, one.difference.quantity.measure) for one in standings
    ]
    yield from list_comparison_warnings(sides)
    incomplete = [one for one in standings if one.difference.only_left]
    counts = {(one.label, one.difference.subject): one.difference.contrast.n for one in incomplete}
    for (label, subject), n in counts.items():
        yield f"{label} has only {n:,} of the items of {subject}; it was compared on these items."
    yield from dict.fromkeys(note for _, result in runs for note in list_sample_notes(result.manifest.data))


def _explain_missing_measures(cells: Sequence[Cell], measures: Sequence[str]) -> str:
    if measures:
        known = list(dict.fromkeys(quantity.name for cell in cells for quantity in cell.list_quantities()))
        return f"The runs have no {' or '.join(measures)}; use one of the measures {', '.join(known)}."
    return "The runs have no measure of bias to which single items contribute; `tiltmeter show` prints their values."


def _explain_missing_positions(positions: Sequence[Position], source: str) -> str:
    first = positions[0]
    left_out = [
        f"reference models {one.reason}: {shorten_names(one.models, 4)}{f' (add {one.option})' if one.option else ''}"
        for one in first.left_out
    ]
    return (
        f"{first.cell} cannot be compared with the reference results ({source}): "
        + "; ".join([first.reason, *left_out])
        + "."
    )
