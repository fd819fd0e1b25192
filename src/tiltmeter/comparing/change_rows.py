"""The changes of all results: of the targets, of quality, and of all other results on bias ("elsewhere")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tiltmeter.comparing.cell_selection import Selection, find_measure_name, list_groups, select_location
from tiltmeter.comparing.cells import NamedRuns
from tiltmeter.comparing.change_pairs import CellPair, MatchedResults
from tiltmeter.comparing.comparability import Across
from tiltmeter.comparing.comparison import compute_differences, mark_unreliable_sides
from tiltmeter.comparing.model_change import AFTER, BEFORE, ChangeRole, ChangeRow
from tiltmeter.comparing.paired_difference import Difference, Side, correct_test_families, mark_contradictions
from tiltmeter.datasets.dataset_loader import DATASETS
from tiltmeter.errors import UsageError
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict import UNRELIABLE_KINDS

_BIAS_TYPE = "bias_type"
_FEWEST_ITEMS = 20  # bias types with fewer items are not tested


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """The difference between after and before on the items that `where` selects."""

    where: Mapping[str, str]
    difference: Difference

    @property
    def key(self) -> tuple[object, ...]:
        """The key of the result: its scores, its measure and its group of items."""
        return (*self.difference.right.cell.key, self.difference.quantity.name, *self.where.items())

    @property
    def is_reliable(self) -> bool:
        """Whether both results, before and after the change, are neither contradictory nor uninterpretable."""
        return self.difference.verdict not in UNRELIABLE_KINDS

    def mixes_items_with(self, target: "MeasuredChange") -> bool:
        """Return whether this result contains items of a target together with other items, in the same measure."""
        ours, theirs = self.difference, target.difference
        if (ours.subject, ours.quantity.name) != (theirs.subject, theirs.quantity.name):
            return False
        targeted = ours.items.isin(theirs.items)
        return bool(targeted.any() and not targeted.all())


class ChangeMeter:
    """Computes differences between after and before; `runs` are all runs, for the verdicts on their results."""

    def __init__(self, runs: NamedRuns, across: Sequence[Across]) -> None:
        self._runs, self._across = runs, across

    def measure_results(
        self, matched: MatchedResults, where: Mapping[str, str], measures: Sequence[str]
    ) -> list[MeasuredChange]:
        """Return the changes of the measures over the pooled parts and in each part."""
        if not measures:
            return []
        compared = (d for pair in matched.pairs for d in self._compare_pair(pair, where, measures))
        differences = correct_test_families(list(compared))
        marked = mark_contradictions(mark_unreliable_sides(differences, self._runs, where))
        return [MeasuredChange(where, difference) for difference in marked]

    def _compare_pair(self, pair: CellPair, where: Mapping[str, str], measures: Sequence[str]) -> list[Difference]:
        after, before = (cell.select_attribute_values(where) for cell in (pair.after, pair.before))
        return [
            replace(difference, left=Side(AFTER, after), right=Side(BEFORE, before))
            for difference in compute_differences(after, before, measures, self._across)
        ]


def select_judged_changes(changes: Sequence[MeasuredChange]) -> list[MeasuredChange]:
    """Return, for each measure, the change over the pooled parts; if it is not reliable, those of the single parts."""
    kept = []
    for name in dict.fromkeys(change.difference.quantity.name for change in changes):
        of_measure = [change for change in changes if change.difference.quantity.name == name]
        pooled = [change for change in of_measure if change.difference.part == OVERALL]
        parts = [change for change in of_measure if change.difference.part != OVERALL]
        divided = any(not change.is_reliable for change in pooled) and any(change.is_reliable for change in parts)
        kept += parts if divided or not pooled else pooled
    return kept


def measure_targets(
    meter: ChangeMeter, targets: Sequence[Selection], matches: Sequence[MatchedResults]
) -> list[MeasuredChange]:
    """Return the changes of the targets; without targets, of all primary measures except on control data sets."""
    names = dict.fromkeys(matched.first.before.benchmark for matched in matches if not is_control(matched))
    found: dict[tuple[object, ...], MeasuredChange] = {}
    for target in targets or [Selection(text=name, benchmark=name) for name in names]:
        changes = _measure_target(meter, target, matches)
        if targets and not changes:
            raise UsageError(
                f"{target.subject} matches no measure of bias that exists before and after the change; name a measure, "
                "as in stereoset.SS."
            )
        found |= {change.key: change for change in changes}
    if not found:
        raise UsageError(
            "The runs before and after the change have no measure of bias in common, apart from control data sets; "
            "measure both models on the same benchmark, such as stereoset."
        )
    return list(found.values())


def _measure_target(meter: ChangeMeter, target: Selection, matches: Sequence[MatchedResults]) -> list[MeasuredChange]:
    cells = [pair.before for matched in matches for pair in matched.pairs]
    selected = {cell.key for cell in select_location(target, cells)}
    changes = []
    for matched in matches:
        parts = tuple(pair for pair in matched.parts if pair.before.key in selected)
        if not parts:
            continue
        chosen = MatchedResults(parts, matched.pooled if target.part in (None, OVERALL) else None)
        cell = chosen.first.before
        measures = [find_measure_name(target, cell)] if target.measure else _list_primary_measures(chosen)
        for where in list_groups(target, cell) if measures else ():
            changes += select_judged_changes(meter.measure_results(chosen, where, measures))
    return changes


def measure_others(
    meter: ChangeMeter, matches: Sequence[MatchedResults], targets: Sequence[MeasuredChange]
) -> tuple[list[MeasuredChange], list[MeasuredChange]]:
    """Return the changes of bias elsewhere, and those of quality.

    The bias elsewhere is measured by the primary measures of all benchmarks and languages, over all parts, in each
    part, and for each bias type. Targets, and results that mix targeted and other items, are left out.
    """
    biases: dict[tuple[object, ...], MeasuredChange] = {}
    qualities: dict[tuple[object, ...], MeasuredChange] = {}
    for matched in matches:
        if is_control(matched):
            continue
        primary = _list_primary_measures(matched)
        found = meter.measure_results(matched, {}, primary)
        judged = select_judged_changes(found)
        listed = [*judged, *(change for change in found if change.difference.part != OVERALL)]
        for group in _list_bias_types(matched):
            changes = select_judged_changes(meter.measure_results(matched, {_BIAS_TYPE: group}, primary))
            listed += [change for change in changes if change.difference.contrast.n >= _FEWEST_ITEMS]
        biases |= {change.key: change for change in listed}
        quality = [quantity.name for quantity in matched.first.before.list_quantities() if measures_quality(quantity)]
        qualities |= {c.key: c for c in select_judged_changes(meter.measure_results(matched, {}, quality))}
    keys = {target.key for target in targets}
    others = [c for c in biases.values() if c.key not in keys and not any(map(c.mixes_items_with, targets))]
    return others, [change for change in qualities.values() if change.key not in keys]


def measures_quality(quantity: Quantity) -> bool:
    """Return whether a measure is about quality, such as LMS or accuracy: the maximum is best, and it is not a bias."""
    return bool(quantity.measure.higher_is_better) and not quantity.measure.is_about_bias


def is_control(matched: MatchedResults) -> bool:
    """Return whether the data set of these results is a control, in which a preference is not a stereotype."""
    data = DATASETS.get(matched.first.before.benchmark)
    return data is not None and bool(data.why_control)


def _list_primary_measures(matched: MatchedResults) -> list[str]:
    """Return the name of the primary measure; empty if there is no measure of bias."""
    quantity = matched.first.before.find_primary_quantity()
    return [] if quantity is None else [quantity.name]


def _list_bias_types(matched: MatchedResults) -> list[str]:
    attributes = matched.first.before.attributes
    if _BIAS_TYPE not in attributes.columns:
        return []
    names = sorted(map(str, attributes[_BIAS_TYPE].dropna().unique()))
    return names if len(names) > 1 else []


def build_rows(
    targets: Sequence[MeasuredChange],
    others: Sequence[MeasuredChange],
    qualities: Sequence[MeasuredChange],
    quality_margin: float,
) -> list[ChangeRow]:
    """Return all rows; p-values are corrected over the targets, and over all other results together."""
    targeted: list[tuple[ChangeRole, MeasuredChange]] = [("target", change) for change in targets]
    other: list[tuple[ChangeRole, MeasuredChange]] = [
        *(("elsewhere", change) for change in others),
        *(("quality", change) for change in qualities),
    ]
    return [*correct_rows(targeted, quality_margin), *correct_rows(other, quality_margin)]


def correct_rows(changes: Sequence[tuple[ChangeRole, MeasuredChange]], quality_margin: float) -> list[ChangeRow]:
    """Return rows with p-values that are corrected by Holm's method over the reliable changes among these."""
    tested = [change.difference.contrast for _, change in changes if change.is_reliable]
    closer, farther = (
        iter(adjust_holm([getattr(contrast, name) for contrast in tested])) for name in ("p_closer", "p_farther")
    )
    return [
        ChangeRow(
            role=role,
            difference=change.difference,
            where=change.where,
            margin=_compute_margin(change.difference.quantity, quality_margin),
            p_closer=next(closer) if change.is_reliable else 1.0,
            p_farther=next(farther) if change.is_reliable else 1.0,
            tests=len(tested),
        )
        for role, change in changes
    ]


def _compute_margin(quantity: Quantity, quality_margin: float) -> float | None:
    """Return the margin of a measure; `quality_margin` is in percent of the scale of measures of quality."""
    if measures_quality(quantity) and quantity.measure.bounds is not None:
        low, high = quantity.measure.bounds
        return quality_margin * (high - low) / 100
    return quantity.measure.margin
