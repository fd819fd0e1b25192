"""Runs compared, item by item: models on the same items, and languages on the translations of the same items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal

import pandas as pd

from tiltmeter.comparing.cells import Cell, cells_of, restrict
from tiltmeter.comparing.comparability import Across, differing, refusal, warnings
from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.errors import UsageError
from tiltmeter.measures.contrasts import Contrast, contrast, disagreements, same_but_for_rounding
from tiltmeter.measures.families import grouped, holm
from tiltmeter.measures.measure import Quantity, abbreviated
from tiltmeter.measures.measure import measures as all_measures
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.measures.rule import ALPHA
from tiltmeter.runs.result import Result
from tiltmeter.runs.samples import samples_of

By = Literal["model", "language", "any"]
BY: tuple[By, ...] = ("model", "language", "any")

DifferenceKind = Literal[
    "not interpretable", "contradictory", "identical", "significant", "no difference", "inconclusive"
]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that are compared; `label` tells it from the other."""

    label: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure compared between two sides, on the items that both have.

    `only_left` and `only_right` count the items that were left out because the other side does not have them.
    `p_holm` is the p-value corrected over a family of `tests`: all of the same measure and benchmark; those of pooled
    parts are a family of their own; `p_equivalence` is corrected in the same way. `doubts` say which of the two sides
    cannot be interpreted, in a measure of bias, and why; `contradiction` which of the pooled parts differ significantly
    in opposite directions.
    """

    of: str
    benchmark: str
    part: str
    left: Side
    right: Side
    quantity: Quantity
    items: pd.Index
    only_left: int
    only_right: int
    contrast: Contrast
    p_holm: float = 1.0
    p_equivalence: float | None = None
    tests: int = 1
    doubts: tuple[str, ...] = ()
    contradiction: str = ""

    @property
    def significant(self) -> bool:
        """Whether the difference is significant after correction."""
        return self.p_holm < ALPHA

    @property
    def verdict(self) -> DifferenceKind:
        """What is said of the difference, by the rule of `measures.rule`."""
        if self.doubts:
            return "not interpretable"
        if self.contradiction:
            return "contradictory"
        if self.contrast.test == "identical":
            return "identical"
        if self.significant:
            return "significant"
        equivalent = self.p_equivalence is not None and self.p_equivalence < ALPHA / 2
        return "no difference" if equivalent else "inconclusive"

    def disagreed(self) -> list[tuple[tuple[str, str], float]]:
        """The items on which the two disagree, by part and id, with how far the two lie apart; the farthest first."""
        ours, theirs = (side.cell.values(self.quantity, self.items) for side in (self.left, self.right))
        apart = disagreements(self.quantity, ours, theirs)
        gaps = (ours - theirs).sum(axis=0)
        found = [(self.items[place], float(gaps[place])) for place in map(int, apart.nonzero()[0])]
        return sorted(found, key=lambda entry: (-abs(entry[1]), entry[0]))

    def to_dict(self) -> dict[str, Any]:
        """The difference as JSON has it."""

        def side(one: Side) -> dict[str, str]:
            cell = one.cell
            return {
                "run": cell.run,
                "model": cell.model,
                "language": cell.language,
                "protocol": cell.protocol,
                "family": cell.asking.family,
                "kind": cell.asking.kind or "unknown",
            }

        return {
            "benchmark": self.benchmark,
            "part": self.part,
            "measure": self.quantity.name,
            "ideal": self.quantity.ideal,
            "left": side(self.left),
            "right": side(self.right),
            "only_left": self.only_left,
            "only_right": self.only_right,
            **{
                name if name not in ("left", "right") else f"value_{name}": v
                for name, v in asdict(self.contrast).items()
            },
            "p_holm": self.p_holm,
            "p_equivalence": self.p_equivalence,
            "verdict": self.verdict,
            "doubts": list(self.doubts),
            "contradiction": self.contradiction,
            "tests": self.tests,
            "significant": self.significant,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences, and what a reader should know about them."""

    differences: list[Difference]
    notes: list[str]


def compare(
    runs: Sequence[tuple[str, Result]],
    *,
    by: By | None = None,
    baseline: str | None = None,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
) -> Comparison:
    """Compare runs, given with their names: every two models on the same items, and every two languages of a model.

    `by` keeps one kind of pair: "model", "language", or "any", two cells that differ in both. `baseline` names a model,
    a language or a run, to compare the others with it alone. `measures` keeps some measures, `where` some items.
    What was asked of models of different kinds, by different protocols, on different editions of the data, or over the
    tokens of different tokenizers is compared only where `across` says so.
    """
    measures = _known_measures(measures)
    cells = [cell for name, result in runs for cell in cells_of(name, result)]
    cells = restrict(cells, where) if where else cells
    pairs = [_baseline_second(pair, baseline) for pair in _pairs(cells, by)]
    if baseline is not None:
        _refuse_unknown_baseline(cells, baseline)
        pairs = [pair for pair in pairs if _is(pair[1], baseline) and not _is(pair[0], baseline)]
    if not pairs:
        raise UsageError(_why_no_pairs(cells, by, baseline))
    allowed = [pair for pair in pairs if not set(differing(*pair)) - set(across)]
    if not allowed:
        raise UsageError(refusal(*pairs[0], across))
    differences = [found for left, right in allowed for found in _differences(left, right, cells, measures, across)]
    if not differences:
        raise UsageError(_why_no_differences(allowed, measures, across))
    notes = [*_notes(differences), *_notes_on_tokenizers(allowed, measures, across)]
    notes += warnings((one.left.cell, one.right.cell, one.quantity.measure) for one in differences)
    notes += dict.fromkeys(sample for _, result in runs for sample in samples_of(result.manifest))
    if left_out := [pair for pair in pairs if pair not in allowed]:
        notes.append(f"Not compared: {len(left_out)} of {len(pairs)} pairs. {refusal(*left_out[0], across)}")
    return Comparison(_contradicted(doubted(_corrected(differences), runs)), notes)


def differences_between(
    left: Cell, right: Cell, measures: Sequence[str], across: Sequence[Across] = ()
) -> list[Difference]:
    """The differences of two cells, not corrected for any other; none where they share no item."""
    return list(_differences(left, right, (left, right), measures, across))


def _pairs(cells: Sequence[Cell], by: By | None) -> list[tuple[Cell, Cell]]:
    wanted = (by,) if by else ("model", "language")
    return [(one, other) for one, other in combinations(cells, 2) if _kind(one, other) in wanted]


def _kind(one: Cell, other: Cell) -> By | None:
    """In what two cells differ, if they can be compared at all."""
    if (one.benchmark, one.part) != (other.benchmark, other.part):
        return None
    if one.language == other.language:
        return "model"  # or the protocol, or the run
    if one.model != other.model:
        return "any"
    return "language"


def _is(cell: Cell, name: str) -> bool:
    return name in (cell.model, cell.language, cell.run)


def _baseline_second(pair: tuple[Cell, Cell], baseline: str | None) -> tuple[Cell, Cell]:
    one, other = pair
    return (other, one) if baseline is not None and _is(one, baseline) and not _is(other, baseline) else pair


def _differences(
    left: Cell, right: Cell, cells: Sequence[Cell], measures: Sequence[str], across: Sequence[Across]
) -> Iterator[Difference]:
    common = right.quantities()
    for quantity in left.quantities():
        if quantity not in common or (measures and quantity.name not in measures):
            continue
        if _of_other_tokens(left, right, quantity, across):
            continue
        ours, theirs = left.items(quantity), right.items(quantity)
        items = ours.intersection(theirs).sort_values()
        if not len(items):
            continue
        roles = list(quantity.values.roles)
        found = contrast(
            quantity,
            left.values(quantity, items),
            right.values(quantity, items),
            left.labels(quantity, items),
            left.clusters(quantity, items),
            identical=same_but_for_rounding(
                left.scores.loc[items, roles].to_numpy(dtype=float),
                right.scores.loc[items, roles].to_numpy(dtype=float),
            ),
        )
        yield Difference(
            _of(left, right),
            left.benchmark,
            left.part,
            Side(_label(left, right, cells), left),
            Side(_label(right, left, cells), right),
            quantity,
            items,
            len(ours) - len(items),
            len(theirs) - len(items),
            found,
        )


def _of_other_tokens(left: Cell, right: Cell, quantity: Quantity, across: Sequence[Across]) -> bool:
    """Whether a measure is a mean over tokens, and the two split texts differently, which was not allowed."""
    return "tokenizers" in set(differing(left, right, quantity.measure)) - set(across)


def _notes_on_tokenizers(
    pairs: Sequence[tuple[Cell, Cell]], measures: Sequence[str], across: Sequence[Across]
) -> Iterator[str]:
    """Which measures were left out since models split texts differently."""
    left_out: dict[str, tuple[Cell, Cell, Quantity]] = {}
    for left, right in pairs:
        for quantity in left.quantities():
            wanted = quantity in right.quantities() and (not measures or quantity.name in measures)
            if wanted and _of_other_tokens(left, right, quantity, across):
                left_out.setdefault(quantity.name, (left, right, quantity))
    if left_out:
        left, right, quantity = next(iter(left_out.values()))
        yield f"Not compared: {', '.join(left_out)}. {refusal(left, right, across, quantity.measure)}"


def _of(left: Cell, right: Cell) -> str:
    """What is compared: the models of a language, the languages of a model, or all there are of a benchmark."""
    if left.language == right.language:
        return f"{left.benchmark}:{left.language}"
    return f"{left.model} on {left.benchmark}" if left.model == right.model else left.benchmark


def _label(cell: Cell, other: Cell, cells: Sequence[Cell]) -> str:
    if cell.language != other.language:
        return cell.language if cell.model == other.model else f"{cell.model}:{cell.language}"
    # A model that comes up twice is told from itself by its protocol, or by the run it is from.
    alike = [
        one
        for one in cells
        if (one.model, one.benchmark, one.part, one.language) == (cell.model, cell.benchmark, cell.part, cell.language)
    ]
    if len(alike) == 1:
        return cell.model
    return f"{cell.model} ({cell.protocol if len({one.protocol for one in alike}) == len(alike) else cell.run})"


def _corrected(differences: Sequence[Difference]) -> list[Difference]:
    corrected = list(differences)
    for indexes in grouped(differences, lambda one: (one.benchmark, one.quantity.name, one.part == OVERALL)):
        for index, p_holm in zip(indexes, holm([differences[i].contrast.p_value for i in indexes]), strict=True):
            corrected[index] = replace(differences[index], p_holm=p_holm, tests=len(indexes))
        for index, p_value in zip(indexes, holm([_equivalence(differences[i]) for i in indexes]), strict=True):
            if differences[index].contrast.p_equivalence is not None:
                corrected[index] = replace(corrected[index], p_equivalence=p_value)
    return corrected


def _equivalence(one: Difference) -> float:
    return 1.0 if one.contrast.p_equivalence is None else one.contrast.p_equivalence


def doubted(differences: Sequence[Difference], runs: Sequence[tuple[str, Result]]) -> list[Difference]:
    """The differences in measures of bias with what the verdicts of either side say against interpreting them."""
    reasons: dict[tuple[str, ...], str] = {}
    for name, result in runs:
        for record in result.records:
            verdict = record.verdict
            if record.view == "all" and verdict is not None and verdict.kind == "not interpretable":
                reasons[(name, *_place(record))] = verdict.reason
    return [
        replace(
            one,
            doubts=tuple(
                f"{side.label}: {reasons[key]}"
                for side in (one.left, one.right)
                if (key := (side.cell.run, *_place(side.cell))) in reasons
            ),
        )
        if one.quantity.measure.stereotype
        else one
        for one in differences
    ]


def _contradicted(differences: Sequence[Difference]) -> list[Difference]:
    """The differences of pooled parts with what contradicts them: parts that differ in both directions."""
    parts: dict[tuple[str, ...], dict[bool, list[str]]] = {}
    for one in differences:
        if one.part != OVERALL and one.significant:
            sides = parts.setdefault(_pair(one), {True: [], False: []})
            sides[one.contrast.difference > 0].append(one.part)
    found = []
    for one in differences:
        sides = parts.get(_pair(one), {}) if one.part == OVERALL else {}
        if sides and sides[True] and sides[False]:
            higher = (
                f"{side.label} is higher in {', '.join(sides[up])}"
                for side, up in ((one.left, True), (one.right, False))
            )
            one = replace(one, contradiction=", ".join(higher))
        found.append(one)
    return found


def _pair(one: Difference) -> tuple[str, ...]:
    """What tells two compared sides from others, whatever the part."""
    sides = (one.left, one.right)
    return (one.of, one.quantity.name, *(name for side in sides for name in (side.label, side.cell.run)))


def _place(of: Cell | Record) -> tuple[str, ...]:
    return of.model, of.benchmark, of.part, of.language, of.protocol


def _notes(differences: Sequence[Difference]) -> Iterator[str]:
    left_out = [one for one in differences if one.only_left or one.only_right]
    for one in {(one.of, one.part, one.left.label, one.right.label): one for one in left_out}.values():
        counts = " and ".join(
            f"{count:,} that only {side.label} has"
            for count, side in ((one.only_left, one.left), (one.only_right, one.right))
            if count
        )
        yield f"Left out of {one.of}/{one.part}: {counts}."


def _known_measures(given: Sequence[str]) -> list[str]:
    known = [name for name, measure in all_measures().items() if measure.items]
    found = [abbreviated(name, known) for name in given]
    for name, measure in zip(given, found, strict=True):
        if measure is None:
            raise UsageError(
                f"There is no measure {name!r} to compare in{did_you_mean(name, known)}; there is {', '.join(known)}."
            )
    return [measure for measure in found if measure is not None]


def _refuse_unknown_baseline(cells: Sequence[Cell], baseline: str) -> None:
    there = list(dict.fromkeys(name for cell in cells for name in (cell.model, cell.language, cell.run)))
    if baseline not in there:
        raise UsageError(
            f"The baseline {baseline!r} is no model, language or run here{did_you_mean(baseline, there)}; "
            f"there is {', '.join(there)}."
        )


def _why_no_pairs(cells: Sequence[Cell], by: By | None, baseline: str | None) -> str:
    if not cells:
        return "The runs hold no scores; make them again."
    places = list(dict.fromkeys(f"{cell.model} on {cell.benchmark}:{cell.language}" for cell in cells))
    held = f"The runs hold {'; '.join(places[:6])}{' …' if len(places) > 6 else ''}"
    if len(places) == 1 and len({cell.run for cell in cells}) == 1:
        return f"{held}, and nothing to compare it with; give a second run, of another model or another language."
    if baseline is not None and _pairs(cells, by):
        return f"{held}, and nothing that could be compared with {baseline}; leave --baseline out to see all pairs."
    others = [kind for kind in BY if kind != by and _pairs(cells, kind)]
    if others:
        wanted = f"--by {by}" if by else "what is compared by default"
        return f"{held}, and no two of them are a pair for {wanted}; use --by {others[0]}."
    return f"{held}, and no two of them on the same benchmark and part; run them on the same one."


def _why_no_differences(pairs: Sequence[tuple[Cell, Cell]], measures: Sequence[str], across: Sequence[Across]) -> str:
    sharing = [(one, other) for one, other in pairs if len(one.scores.index.intersection(other.scores.index))]
    if not sharing:
        one, other = pairs[0]
        return (
            f"{one} (in {one.run}) and {other} (in {other.run}) share no items, so there is nothing to pair; run both "
            f"on the same items, with the same --limit."
        )
    one, other = sharing[0]
    shared = [quantity for quantity in one.quantities() if quantity in other.quantities()]
    there = ", ".join(quantity.name for quantity in shared)
    wanted = [q for q in shared if not measures or q.name in measures]
    if by_token := [q for q in wanted if _of_other_tokens(one, other, q, across)]:
        return refusal(one, other, across, by_token[0].measure)
    if measures and shared:
        return f"{one} and {other} cannot be compared in {', '.join(measures)}; they can be in {there}."
    ours, theirs = (", ".join(map(str, cell.scores.columns)) for cell in (one, other))
    return f"{one} and {other} have no measure in common: one has scores for {ours}, the other for {theirs}."
