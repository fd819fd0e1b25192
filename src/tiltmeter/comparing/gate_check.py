"""Checks of a run against rules, such as a maximum for a measure."""

from collections.abc import Sequence

from tiltmeter.comparing.baseline_rules import judge_against_baseline
from tiltmeter.comparing.cell_selection import EVERY
from tiltmeter.comparing.cells import format_location, shorten_names
from tiltmeter.comparing.comparability import Across
from tiltmeter.comparing.gate_power import compute_tolerance, compute_unbiased_error
from tiltmeter.comparing.gate_rules import Rule
from tiltmeter.comparing.gate_verdict import RuleVerdict, judge_value
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.measure import complete_name, get_measure
from tiltmeter.measures.pooled_rows import find_rows_judged_by_part, find_unreliable_verdict, get_pooling_key
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import describe_sample

JUDGED_BY_PART = "judged separately, because the parts contradict each other or one of them is not interpretable"


def check(
    result: Result,
    rules: Sequence[Rule],
    *,
    baseline: Result | None = None,
    lenient: bool = False,
    across: Sequence[Across] = (),
) -> list[RuleVerdict]:
    """Check a run against rules. Raise an error for a rule that matches no record, because it would always pass."""
    if not rules:
        raise UsageError('There are no rules; give one with --max, --min or --no-worse-than: --max "stereoset.SS 60".')
    verdicts: list[RuleVerdict] = []
    for rule in rules:
        if rule.kind == "no-worse-than":
            if baseline is None:
                raise UsageError(f"The rule {str(rule)!r} needs a baseline run; name one with --baseline.")
            verdicts += judge_against_baseline(rule, result, baseline, lenient, across)
        else:
            verdicts += [
                _judge_record(rule, record, result, lenient) for record in select_matching_records(rule, result.records)
            ]
    return verdicts


def select_matching_records(rule: Rule, records: Sequence[Record]) -> list[Record]:
    """Return the records to which a rule applies. A rule without a part applies to the pooled parts, if there are any.

    If the parts contradict each other or some are not interpretable, the rule applies to the single parts, because a
    pooled value would hide this.
    """
    matched = _narrow_records(records, "benchmark", rule.benchmark, rule)
    if rule.part not in (None, EVERY):
        matched = _narrow_records(matched, "part", str(rule.part), rule)
    matched = [
        record
        for language in rule.languages or dict.fromkeys(record.language for record in matched)
        for record in _narrow_records(matched, "language", language, rule)
    ]
    measure = complete_name(rule.measure, (record.measure for record in matched))
    matched = _narrow_records(matched, "measure", measure or rule.measure, rule)
    # A measure such as ICAT macro has no record over all items, so the first view that has a record is used.
    views = dict.fromkeys(record.view for record in matched)
    view = next(iter(views)) if rule.view == "all" and "all" not in views else rule.view
    matched = _narrow_records(matched, "view", view, rule)
    if rule.group != EVERY and (view == rule.view or any(record.group == "all" for record in matched)):
        matched = _narrow_records(matched, "group", rule.group, rule)
    if rule.part is None:
        pooled = {get_pooling_key(record) for record in matched if record.part == OVERALL} - find_rows_judged_by_part(
            records
        )
        matched = [r for r in matched if (r.part == OVERALL) == (get_pooling_key(r) in pooled)]
    return matched


def _narrow_records(records: Sequence[Record], field: str, value: str, rule: Rule) -> list[Record]:
    kept = [record for record in records if getattr(record, field) == value]
    if not kept:
        values = list(dict.fromkeys(str(getattr(record, field)) for record in records))
        raise UsageError(
            f"The rule {rule.text!r} matches nothing: the run has no {field} {value!r}"
            f"{suggest_name(value, values)}; it has {shorten_names(values)}."
        )
    return kept


def _judge_record(rule: Rule, record: Record, result: Result, lenient: bool) -> RuleVerdict:
    value, ends = record.value, record.interval
    quantity, measure = record.measure, get_measure(record.measure)
    even = needed = None
    if measure.ideal is not None and measure.bias_direction and record.standard_error:
        error = compute_unbiased_error(record.value, record.standard_error, measure.ideal, measure.bounds)
        tolerance = compute_tolerance(rule, measure.ideal, error, record.df or record.n - 1, ratio=measure.ratio)
        even, needed = tolerance.passes(lenient), tolerance.compute_needed_items(record.n, lenient)
    unreliable = find_unreliable_verdict(record, result.records)
    # If two measures of one part contradict each other, a rule about one of them can still be judged.
    fails = unreliable is not None and (record.part == OVERALL or unreliable.kind == "not interpretable")
    divided = (
        record.part != OVERALL
        and rule.part is None
        and get_pooling_key(record) in find_rows_judged_by_part(result.records)
    )
    sample = describe_sample(result.manifest.data, record.benchmark, record.part, record.language)
    notes = (JUDGED_BY_PART * divided, unreliable.words if unreliable else "", sample)
    if rule.distance:
        if record.ideal is None:
            raise UsageError(
                f"The rule {rule.text!r} has the word distance, but {record.measure} has no ideal; delete the word."
            )
        ends = convert_to_distance_interval(ends, record.ideal) if ends else None
        value, quantity = abs(value - record.ideal), f"distance of {quantity} from {record.ideal:g}"
    group = "" if record.view == "all" else f", {record.view} {record.group}"
    return judge_value(
        rule,
        record.model,
        format_location(record.benchmark, record.part, record.language),
        quantity + group,
        value,
        ends,
        record.n,
        lenient,
        even=even,
        needed=needed,
        unreliable=unreliable if fails else None,
        note="; ".join(filter(None, notes)),
    )


def convert_to_distance_interval(ends: Interval, ideal: float) -> Interval:
    """Convert the interval of a value to the interval of its distance from the ideal.

    If the interval of the value contains the ideal, the minimum distance is 0.
    """
    below, above = (abs(end - ideal) for end in ends)
    return 0.0 if ends[0] <= ideal <= ends[1] else min(below, above), max(below, above)
