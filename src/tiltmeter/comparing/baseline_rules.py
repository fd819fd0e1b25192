"""Rules about a baseline: the run must not be farther from the ideal than the baseline by more than a margin."""

from collections.abc import Callable, Iterator, Sequence

from tiltmeter.comparing.cell_selection import EVERY, find_measure_name, list_groups, select_location
from tiltmeter.comparing.cells import Cell, build_all_cells
from tiltmeter.comparing.comparability import Across, explain_incomparable, list_differing_conditions
from tiltmeter.comparing.comparison import compute_differences, describe_undefined_measures, mark_unreliable_sides
from tiltmeter.comparing.gate_power import RuleTolerance
from tiltmeter.comparing.gate_rules import Rule
from tiltmeter.comparing.gate_verdict import RuleVerdict, judge_value
from tiltmeter.comparing.paired_difference import Difference
from tiltmeter.errors import UsageError
from tiltmeter.measures.pooled_rows import find_rows_judged_by_part
from tiltmeter.measures.records import OVERALL, get_base_protocol
from tiltmeter.measures.verdict import Verdict
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import describe_sample

_RUN, _BASELINE = "the run", "the baseline"


def judge_against_baseline(
    rule: Rule, result: Result, baseline: Result, lenient: bool, across: Sequence[Across] = ()
) -> Iterator[RuleVerdict]:
    """Yield the verdicts of a rule: whether the run is farther from the ideal than the baseline on the same items."""
    runs = ((_RUN, result), (_BASELINE, baseline))
    both = build_all_cells(runs)
    ours, theirs = ([cell for cell in both if cell.run == name] for name, _ in runs)
    divided = _find_divided_data(rule, result), _find_divided_data(rule, baseline)

    def is_divided(cell: Cell) -> bool:
        other = _find_counterpart(cell, _select_same_location(cell, theirs), ours, rule, across)
        return any(_get_data_key(side) in keys for side, keys in zip((cell, other), divided, strict=True))

    cells = _select_cells(rule, ours, is_divided)
    matched = False
    undefined = ""
    for cell in cells:
        other = _find_counterpart(cell, _select_same_location(cell, theirs), ours, rule, across)
        names = _list_rule_measures(rule, cell)
        _reject_other_tokenizers(cell, other, names, across)
        for where in list_groups(rule, cell):
            left, right = cell.select_attribute_values(where), other.select_attribute_values(where)
            undefined = next(describe_undefined_measures(left, right, names), undefined)
            for difference in mark_unreliable_sides(compute_differences(left, right, names, across), runs, where):
                matched = True
                sample = describe_sample(result.manifest.data, cell.benchmark, cell.part, cell.language)
                yield _judge_difference(rule, difference, where, lenient, sample)
    if not matched:
        if undefined:
            raise UsageError(f"The rule {rule.text!r} cannot be checked: {undefined}")
        measures = ", ".join(dict.fromkeys(quantity.name for cell in cells for quantity in cell.list_quantities()))
        if not rule.measure:
            raise UsageError(
                f"--no-worse-than {rule.text} applies to percentages of preferences, such as SS, and the run and the "
                f'baseline share none; name a measure ({measures}), as in "gest.log g_s 0.1".'
            )
        raise UsageError(
            f"The rule {rule.text!r} matches no measure that the run and the baseline share; the run has {measures}."
        )


def _find_divided_data(rule: Rule, result: Result) -> set[tuple[str, ...]]:
    """Return the keys (model, benchmark, language, protocol) of the data that a rule judges part by part."""
    divided = find_rows_judged_by_part(result.records)
    return {key[:-2] for key in divided if key[-2] == rule.view and rule.group in (key[-1], EVERY)}


def _get_data_key(cell: Cell) -> tuple[str, ...]:
    return cell.model, cell.benchmark, cell.language, get_base_protocol(cell.protocol)


def _select_cells(rule: Rule, cells: Sequence[Cell], is_divided: Callable[[Cell], bool]) -> list[Cell]:
    """Return the cells (each has the scores of one model on one part and language) to which a rule applies.

    A rule without a part applies to the pooled parts, or to the single parts if the pooled parts are judged part by
    part (`is_divided`).
    """
    kept = select_location(rule, cells)
    if rule.part is None:
        pooled = {_get_data_key(cell) for cell in kept if cell.part == OVERALL and not is_divided(cell)}
        kept = [cell for cell in kept if (cell.part == OVERALL) == (_get_data_key(cell) in pooled)]
    return kept


def _select_same_location(cell: Cell, others: Sequence[Cell]) -> list[Cell]:
    """From `others`, return the cells (scores of one model) with the same benchmark, part and language as `cell`."""
    return [other for other in others if other.location == cell.location]


def _find_counterpart(
    cell: Cell, others: Sequence[Cell], ours: Sequence[Cell], rule: Rule, across: Sequence[Across]
) -> Cell:
    """Return the baseline's scores (a cell) of the same model; if each run has only one model, names may differ."""
    location = f"{cell.benchmark}/{cell.part}:{cell.language}"
    if not others:
        raise UsageError(
            f"The baseline has no scores on {location}, so {str(rule)!r} cannot be checked; run both on the same data."
        )
    same = [other for other in others if other.model == cell.model]
    if not same and len({other.model for other in others}) == 1 and len({own.model for own in ours}) == 1:
        same = list(others)
    if not same:
        models = ", ".join(dict.fromkeys(other.model for other in others))
        raise UsageError(
            f"The baseline has no model {cell.model} on {location}, but several others ({models}); use runs with one "
            "model each, or runs of the same models."
        )
    alike = [other for other in same if not set(list_differing_conditions(cell, other)) - set(across)]
    if not alike:
        raise UsageError(explain_incomparable(cell, same[0], across))
    if not len(alike[0].scores.index.intersection(cell.scores.index)):
        raise UsageError(f"The run and the baseline share no items of {location}; run both with the same --limit.")
    return alike[0]


def _reject_other_tokenizers(cell: Cell, other: Cell, measures: Sequence[str], across: Sequence[Across]) -> None:
    """Raise an error if the models of two cells have different tokenizers and a measure is a mean over tokens."""
    for quantity in cell.list_quantities():
        if quantity.name in measures and set(list_differing_conditions(cell, other, quantity.measure)) - set(across):
            raise UsageError(explain_incomparable(cell, other, across, quantity.measure))


def _list_rule_measures(rule: Rule, cell: Cell) -> list[str]:
    """Return the name of a rule's measure; without a measure, the names of all percentages of preferences."""
    if not rule.measure:
        # An empty list would mean all measures, so "-" is returned, which is not the name of a measure.
        quantities = cell.list_quantities()
        return [q.name for q in quantities if q.values.preference and not q.measure.ideal_at_bound] or ["-"]
    return [find_measure_name(rule, cell)]


def _judge_difference(
    rule: Rule, difference: Difference, where: dict[str, str], lenient: bool, sample: str
) -> RuleVerdict:
    contrast, cell, quantity = difference.contrast, difference.left.cell, difference.quantity
    # The tolerance needs the standard error of a hypothetical model that is exactly as biased as the baseline. The
    # error of the checked model is used instead: the two are equal if both models disagree with the baseline on equally
    # many items.
    error = 0.0 if contrast.test == "identical" else contrast.standard_error
    tolerance = RuleTolerance(None, rule.limit, error, contrast.df)
    group = "".join(f", {name} {value}" for name, value in where.items())
    same = "the run and the baseline gave the same answers" * (contrast.test == "identical")
    return judge_value(
        rule,
        cell.model,
        cell.location,
        f"{quantity.name} farther from {quantity.ideal:g} than the baseline{group}",
        contrast.farther,
        difference.possible_farther,
        contrast.n,
        lenient,
        even=tolerance.passes(lenient),
        needed=tolerance.compute_needed_items(contrast.n, lenient),
        unreliable=_find_unreliable_verdict(difference),
        note="; ".join(filter(None, (same, sample))),
    )


def _find_unreliable_verdict(difference: Difference) -> Verdict | None:
    """Return the unreliable verdict that makes a difference fail every rule; None if there is none."""
    if difference.doubts:
        return Verdict("not interpretable", reason="; ".join(difference.doubts))
    # If two measures of one part contradict each other, a rule about one of them can still be judged.
    is_pooled = difference.part == OVERALL
    return Verdict("contradictory", reason=difference.contradiction) if difference.contradiction and is_pooled else None
