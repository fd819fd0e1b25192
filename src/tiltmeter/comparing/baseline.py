"""Rules about a baseline: no farther from the ideal than another run was, by more than a margin."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from tiltmeter.comparing.cells import Cell, cells_of
from tiltmeter.comparing.comparability import Across, differing, refusal
from tiltmeter.comparing.comparison import Difference, differences_between, doubted
from tiltmeter.comparing.gate_rules import EVERY, Rule
from tiltmeter.comparing.rule_power import Room
from tiltmeter.comparing.rule_verdict import RuleVerdict, judge
from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.errors import UsageError
from tiltmeter.measures.measure import abbreviated
from tiltmeter.measures.records import OVERALL
from tiltmeter.runs.result import Result
from tiltmeter.runs.samples import sample_of

_RUN, _BASELINE = "the run", "the baseline"


def against(
    rule: Rule, result: Result, baseline: Result, lenient: bool, across: Sequence[Across] = ()
) -> Iterator[RuleVerdict]:
    """How much farther from the ideal the run is than the baseline, paired on the items of both."""
    runs = ((_RUN, result), (_BASELINE, baseline))
    ours, theirs = cells_of(*runs[0]), cells_of(*runs[1])
    torn = {
        (record.model, record.benchmark, record.language)
        for record in (*result.records, *baseline.records)
        if record.part == OVERALL and record.verdict is not None and record.verdict.kind == "contradictory"
        if record.view == rule.view and rule.group in (record.group, EVERY)
    }
    cells = _chosen(rule, ours, torn)
    found = False
    for cell in cells:
        other = _counterpart(cell, _same_place(cell, theirs), ours, rule, across)
        names = _measures(rule, cell)
        _refuse_other_tokens(cell, other, names, across)
        for where in _groups(rule, cell):
            left, right = cell.only(where), other.only(where)
            for one in doubted(differences_between(left, right, names, across), runs):
                found = True
                sample = sample_of(result.manifest, cell.benchmark, cell.part, cell.language)
                yield _worse(rule, one, where, lenient, sample)
    if not found:
        there = ", ".join(dict.fromkeys(quantity.name for cell in cells for quantity in cell.quantities()))
        if not rule.measure:
            raise UsageError(
                f"--no-worse-than {rule.text} is for percentages that lean, and none can be compared with the "
                f'baseline; name a measure ({there}), as in "gest.log g_s 0.1".'
            )
        raise UsageError(
            f"The rule {rule.text!r} matches nothing that the run and the baseline share; the run has {there}."
        )


def _chosen(rule: Rule, cells: Sequence[Cell], torn: AbstractSet[tuple[str, str, str]]) -> list[Cell]:
    """The cells a rule is about: both parts pooled where there is that, they agree, and no part is named."""
    kept = list(cells)
    for field, values in (("benchmark", (rule.benchmark,)), ("part", (rule.part,)), ("language", rule.languages)):
        if not any(values) or values == (EVERY,):
            continue
        there = list(dict.fromkeys(getattr(cell, field) for cell in kept))
        for value in values:
            if value not in there:
                raise UsageError(
                    f"The rule {rule.text!r} matches nothing: the run has no {field} {value!r} there"
                    f"{did_you_mean(str(value), there)}; it has {', '.join(there)}."
                )
        kept = [cell for cell in kept if getattr(cell, field) in values]
    if rule.part is None:
        pooled = {(c.model, c.benchmark, c.language) for c in kept if c.part == OVERALL} - torn
        kept = [c for c in kept if (c.part == OVERALL) == ((c.model, c.benchmark, c.language) in pooled)]
    return kept


def _same_place(cell: Cell, others: Sequence[Cell]) -> list[Cell]:
    """The cells on the same benchmark, part and language."""
    place = (cell.benchmark, cell.part, cell.language)
    return [other for other in others if (other.benchmark, other.part, other.language) == place]


def _counterpart(
    cell: Cell, others: Sequence[Cell], ours: Sequence[Cell], rule: Rule, across: Sequence[Across]
) -> Cell:
    """What a cell is compared with: the same model, or where each run has one model only, that one."""
    place = f"{cell.benchmark}/{cell.part}:{cell.language}"
    if not others:
        raise UsageError(
            f"The baseline has nothing for {place}, so {str(rule)!r} cannot be judged; run it on the same items."
        )
    same = [other for other in others if other.model == cell.model]
    if not same and len({other.model for other in others}) == 1 and len({one.model for one in ours}) == 1:
        same = list(others)
    if not same:
        there = ", ".join(dict.fromkeys(other.model for other in others))
        raise UsageError(
            f"The baseline has no model {cell.model} on {place}, and it is not clear which of {there} to compare it "
            f"with; use runs with one model each, or the same names."
        )
    alike = [other for other in same if not set(differing(cell, other)) - set(across)]
    if not alike:
        raise UsageError(refusal(cell, same[0], across))
    if not len(alike[0].scores.index.intersection(cell.scores.index)):
        raise UsageError(f"The run and the baseline share no items of {place}; run both with the same --limit.")
    return alike[0]


def _refuse_other_tokens(cell: Cell, other: Cell, measures: Sequence[str], across: Sequence[Across]) -> None:
    """Stop where a mean over tokens is asked for of models that split texts differently."""
    for quantity in cell.quantities():
        if quantity.name in measures and set(differing(cell, other, quantity.measure)) - set(across):
            raise UsageError(refusal(cell, other, across, quantity.measure))


def _groups(rule: Rule, cell: Cell) -> list[dict[str, str]]:
    if rule.view == "all":
        return [{}]
    columns = list(map(str, cell.attributes.columns))
    if rule.view not in columns:
        raise UsageError(
            f"The rule {rule.text!r} matches nothing: items have no {rule.view!r}{did_you_mean(rule.view, columns)}; "
            f"they have {', '.join(columns) or 'nothing to tell them apart by'}."
        )
    there = sorted({str(value) for value in cell.attributes[rule.view].dropna()})
    if rule.group != EVERY and rule.group not in there:
        raise UsageError(
            f"The rule {rule.text!r} matches nothing: no item has the {rule.view} {rule.group!r}"
            f"{did_you_mean(rule.group, there)}; there is {', '.join(there[:12])}{' …' if len(there) > 12 else ''}."
        )
    return [{rule.view: group} for group in (there if rule.group == EVERY else [rule.group])]


def _measures(rule: Rule, cell: Cell) -> list[str]:
    """The measure of a rule, or every percentage that leans."""
    quantities = cell.quantities()
    names = [quantity.name for quantity in quantities]
    if not rule.measure:
        # A name that no measure has, where there is none: an empty list would stand for all of them.
        return [q.name for q in quantities if q.values.preference and not q.measure.best_at_an_end] or ["-"]
    measure = abbreviated(rule.measure, names)
    if measure is None:
        raise UsageError(
            f"The rule {rule.text!r} matches nothing: {cell} cannot be compared in {rule.measure!r}"
            f"{did_you_mean(rule.measure, names)}; it can be in {', '.join(names)}."
        )
    return [measure]


def _worse(rule: Rule, one: Difference, where: dict[str, str], lenient: bool, sample: str) -> RuleVerdict:
    found, cell = one.contrast, one.left.cell
    # An equally biased model: no farther from the ideal than the baseline, and disagreeing with it as often.
    error = 0.0 if found.test == "identical" else found.standard_error
    room = Room(None, rule.limit, error, (found.clusters or found.n) - 1)
    part = "" if cell.part == "all" else f"/{cell.part}"
    group = "".join(f", {name} {value}" for name, value in where.items())
    return judge(
        rule,
        cell.model,
        f"{cell.benchmark}{part}:{cell.language}",
        f"{one.quantity.name} farther from {one.quantity.ideal:g} than the baseline{group}",
        found.farther,
        (found.farther_low, found.farther_high),
        found.n,
        lenient,
        even=room.passes(lenient),
        needed=room.needed(found.n, lenient),
        uninterpretable=f"not interpretable ({'; '.join(one.doubts)})" if one.doubts else "",
        note="; ".join(filter(None, ("the two gave the same answers" * (found.test == "identical"), sample))),
    )
