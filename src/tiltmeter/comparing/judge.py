"""Judging a run by rules."""

from collections.abc import Sequence

from tiltmeter.comparing.baseline import against
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
from tiltmeter.runs.samples import sample_of


def check(
    result: Result,
    rules: Sequence[Rule],
    *,
    baseline: Result | None = None,
    lenient: bool = False,
    across: Sequence[Across] = (),
) -> list[RuleVerdict]:
    """Judge a run by rules. A rule that matches nothing is an error: it would guard nothing."""
    if not rules:
        raise UsageError('There are no rules; give some with --max, --min or --no-worse-than: --max "stereoset.SS 60".')
    verdicts: list[RuleVerdict] = []
    for rule in rules:
        if rule.kind == "no-worse-than":
            if baseline is None:
                raise UsageError(f"The rule {str(rule)!r} needs a run to compare with; name one with --baseline.")
            verdicts += against(rule, result, baseline, lenient, across)
        else:
            verdicts += [_of_record(rule, record, result, lenient) for record in matching(rule, result.records)]
    return verdicts


def matching(rule: Rule, records: Sequence[Record]) -> list[Record]:
    """The records a rule is about: of both parts pooled where there is that and no part is named.

    Parts that contradict each other are judged by themselves: what was pooled of them hides both.
    """
    there = _narrow(records, "benchmark", rule.benchmark, rule)
    if rule.part not in (None, EVERY):
        there = _narrow(there, "part", str(rule.part), rule)
    there = [
        record
        for language in rule.languages or dict.fromkeys(record.language for record in there)
        for record in _narrow(there, "language", language, rule)
    ]
    measure = abbreviated(rule.measure, (record.measure for record in there))
    there = _narrow(there, "measure", measure or rule.measure, rule)
    # A measure that has no number over all items, such as ICAT macro, is asked for by the first of its views.
    views = dict.fromkeys(record.view for record in there)
    view = next(iter(views)) if rule.view == "all" and "all" not in views else rule.view
    there = _narrow(there, "view", view, rule)
    if rule.group != EVERY and (view == rule.view or any(record.group == "all" for record in there)):
        there = _narrow(there, "group", rule.group, rule)
    if rule.part is None:
        pooled = {_place(record) for record in there if record.part == OVERALL} - contradicting(records)
        there = [r for r in there if (r.part == OVERALL) == (_place(r) in pooled)]
    return there


def contradicting(records: Sequence[Record]) -> set[tuple[str, ...]]:
    """The models, benchmarks, languages, views and groups in which parts contradict each other."""
    return {
        _place(record)
        for record in records
        if record.part == OVERALL and record.verdict is not None and record.verdict.kind == "contradictory"
    }


def _place(record: Record) -> tuple[str, ...]:
    return record.model, record.benchmark, record.language, record.view, record.group


def _narrow(records: Sequence[Record], field: str, value: str, rule: Rule) -> list[Record]:
    kept = [record for record in records if getattr(record, field) == value]
    if not kept:
        there = list(dict.fromkeys(str(getattr(record, field)) for record in records))
        raise UsageError(
            f"The rule {rule.text!r} matches nothing: the run has no {field} {value!r} there"
            f"{did_you_mean(value, there)}; it has {', '.join(there[:12])}{' …' if len(there) > 12 else ''}."
        )
    return kept


def _of_record(rule: Rule, record: Record, result: Result, lenient: bool) -> RuleVerdict:
    value, ends = record.value, _ends(record)
    of, measure = record.measure, measure_named(record.measure)
    even = needed = None
    if measure.ideal is not None and measure.stereotype and record.standard_error:
        error = even_error(record.value, record.standard_error, measure.ideal, measure.bounds)
        room = room_of(rule, measure.ideal, error, (record.clusters or record.n) - 1, ratio=measure.ratio)
        even, needed = room.passes(lenient), room.needed(record.n, lenient)
    said = [r.verdict for r in result.records if r.verdict is not None and row_key(r) == row_key(record)]
    unreadable = [verdict.words for verdict in said if verdict.kind == "not interpretable" and measure.stereotype]
    contradictory = [verdict.words for verdict in said if verdict.kind == "contradictory"]
    torn = record.part != OVERALL and rule.part is None and _place(record) in contradicting(result.records)
    sample = sample_of(result.manifest, record.benchmark, record.part, record.language)
    notes = ("judged by itself, since the parts contradict each other" * torn, *contradictory[:1], sample)
    if rule.distance:
        if record.ideal is None:
            raise UsageError(f"The rule {rule.text!r} asks for a distance, but {record.measure} has no ideal value.")
        ends = _folded(ends, record.ideal) if ends else None
        value, of = abs(value - record.ideal), f"distance of {of} from {record.ideal:g}"
    part = "" if record.part == "all" else f"/{record.part}"
    group = "" if record.view == "all" else f", {record.view} {record.group}"
    return judge(
        rule,
        record.model,
        f"{record.benchmark}{part}:{record.language}",
        of + group,
        value,
        ends,
        record.n,
        lenient,
        even=even,
        needed=needed,
        uninterpretable=next(iter(unreadable), ""),
        note="; ".join(filter(None, notes)),
    )


def _ends(record: Record) -> Interval | None:
    return None if record.low is None or record.high is None else (record.low, record.high)


def _folded(ends: Interval, ideal: float) -> Interval:
    """The interval of the distance from the ideal; where the ideal is inside, the distance may be none at all."""
    below, above = (abs(end - ideal) for end in ends)
    return 0.0 if ends[0] <= ideal <= ends[1] else min(below, above), max(below, above)
