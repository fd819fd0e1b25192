"""Check a run against rules."""

from collections.abc import Sequence

from tiltmeter.comparing.baseline import against
from tiltmeter.comparing.cells import location_of, shortened
from tiltmeter.comparing.comparability import Across
from tiltmeter.comparing.gate_rules import EVERY, Rule
from tiltmeter.comparing.rule_power import even_error, room_of
from tiltmeter.comparing.rule_verdict import RuleVerdict, judge
from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.errors import UsageError
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.measure import abbreviated, measure_named
from tiltmeter.measures.records import OVERALL, Record, row_key
from tiltmeter.runs.result import Result
from tiltmeter.runs.samples import sample_note


def check(
    result: Result,
    rules: Sequence[Rule],
    *,
    baseline: Result | None = None,
    lenient: bool = False,
    across: Sequence[Across] = (),
) -> list[RuleVerdict]:
    """Check a run against rules. A rule that matches nothing is an error, since it would always pass."""
    if not rules:
        raise UsageError('There are no rules; give one with --max, --min or --no-worse-than: --max "stereoset.SS 60".')
    verdicts: list[RuleVerdict] = []
    for rule in rules:
        if rule.kind == "no-worse-than":
            if baseline is None:
                raise UsageError(f"The rule {str(rule)!r} needs a run to compare with; name one with --baseline.")
            verdicts += against(rule, result, baseline, lenient, across)
        else:
            verdicts += [_judged(rule, record, result, lenient) for record in matching(rule, result.records)]
    return verdicts


def matching(rule: Rule, records: Sequence[Record]) -> list[Record]:
    """The records that a rule applies to: without a part in the rule, those of the pooled parts if there are any.

    Parts that contradict each other are judged one by one, since their pooled number would hide both.
    """
    matched = _narrow(records, "benchmark", rule.benchmark, rule)
    if rule.part not in (None, EVERY):
        matched = _narrow(matched, "part", str(rule.part), rule)
    matched = [
        record
        for language in rule.languages or dict.fromkeys(record.language for record in matched)
        for record in _narrow(matched, "language", language, rule)
    ]
    measure = abbreviated(rule.measure, (record.measure for record in matched))
    matched = _narrow(matched, "measure", measure or rule.measure, rule)
    # A measure without a number over all items, such as ICAT macro, is matched in the first of its views.
    views = dict.fromkeys(record.view for record in matched)
    view = next(iter(views)) if rule.view == "all" and "all" not in views else rule.view
    matched = _narrow(matched, "view", view, rule)
    if rule.group != EVERY and (view == rule.view or any(record.group == "all" for record in matched)):
        matched = _narrow(matched, "group", rule.group, rule)
    if rule.part is None:
        pooled = {_key(record) for record in matched if record.part == OVERALL} - contradicting(records)
        matched = [r for r in matched if (r.part == OVERALL) == (_key(r) in pooled)]
    return matched


def contradicting(records: Sequence[Record]) -> set[tuple[str, ...]]:
    """The model, benchmark, language, view and group of each pooled number whose parts contradict each other."""
    return {
        _key(record)
        for record in records
        if record.part == OVERALL and record.verdict is not None and record.verdict.kind == "contradictory"
    }


def _key(record: Record) -> tuple[str, ...]:
    return record.model, record.benchmark, record.language, record.view, record.group


def _narrow(records: Sequence[Record], field: str, value: str, rule: Rule) -> list[Record]:
    kept = [record for record in records if getattr(record, field) == value]
    if not kept:
        values = list(dict.fromkeys(str(getattr(record, field)) for record in records))
        raise UsageError(
            f"The rule {rule.text!r} matches nothing: the run has no {field} {value!r} there"
            f"{did_you_mean(value, values)}; it has {shortened(values)}."
        )
    return kept


def _judged(rule: Rule, record: Record, result: Result, lenient: bool) -> RuleVerdict:
    value, ends = record.value, record.interval
    quantity, measure = record.measure, measure_named(record.measure)
    even = needed = None
    if measure.ideal is not None and measure.bias_direction and record.standard_error:
        error = even_error(record.value, record.standard_error, measure.ideal, measure.bounds)
        room = room_of(rule, measure.ideal, error, (record.clusters or record.n) - 1, ratio=measure.ratio)
        even, needed = room.passes(lenient), room.needed(record.n, lenient)
    verdicts = [r.verdict for r in result.records if r.verdict is not None and row_key(r) == row_key(record)]
    uninterpretable = [
        verdict.words for verdict in verdicts if verdict.kind == "not interpretable" and measure.bias_direction
    ]
    contradictory = [verdict.words for verdict in verdicts if verdict.kind == "contradictory"]
    unpooled = record.part != OVERALL and rule.part is None and _key(record) in contradicting(result.records)
    sample = sample_note(result.manifest.data, record.benchmark, record.part, record.language)
    notes = ("judged by itself, since the parts contradict each other" * unpooled, *contradictory[:1], sample)
    if rule.distance:
        if record.ideal is None:
            raise UsageError(f"The rule {rule.text!r} asks for a distance, but {record.measure} has no ideal value.")
        ends = _folded(ends, record.ideal) if ends else None
        value, quantity = abs(value - record.ideal), f"distance of {quantity} from {record.ideal:g}"
    group = "" if record.view == "all" else f", {record.view} {record.group}"
    return judge(
        rule,
        record.model,
        location_of(record.benchmark, record.part, record.language),
        quantity + group,
        value,
        ends,
        record.n,
        lenient,
        even=even,
        needed=needed,
        uninterpretable=next(iter(uninterpretable), ""),
        note="; ".join(filter(None, notes)),
    )


def _folded(ends: Interval, ideal: float) -> Interval:
    """The interval of the distance from the ideal; it begins at 0 if the ideal is inside the interval."""
    below, above = (abs(end - ideal) for end in ends)
    return 0.0 if ends[0] <= ideal <= ends[1] else min(below, above), max(below, above)
