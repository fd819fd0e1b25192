"""Runs compared, item by item: models on the same items, and languages on the translations of the same items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal

import pandas as pd

from tiltmeter.data.suggest import did_you_mean
from tiltmeter.errors import UsageError
from tiltmeter.measures.contrasts import Contrast, contrast, disagreements, holm
from tiltmeter.measures.intervals import RESAMPLES
from tiltmeter.measures.quantities import QUANTITIES, Quantity, named
from tiltmeter.runs.cells import Cell, cells_of, restrict
from tiltmeter.runs.result import Result

By = Literal["model", "language", "any"]
BY: tuple[By, ...] = ("model", "language", "any")

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that are compared; `label` tells it from the other."""

    label: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure compared between two sides, on the items that both have.

    `only_left` and `only_right` count the items that were left out because the other side does not have them.
    `p_holm` is the p-value corrected over the `family` tests of the same measure and benchmark.
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
    family: int = 1

    @property
    def told_apart(self) -> bool:
        """Whether the difference is more than noise, after correction."""
        return self.p_holm < LEVEL

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
            return {"run": cell.run, "model": cell.model, "language": cell.language, "protocol": cell.protocol}

        return {
            "benchmark": self.benchmark,
            "part": self.part,
            "measure": self.quantity.measure,
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
            "family": self.family,
            "told_apart": self.told_apart,
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
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare runs, given with their names: every two models on the same items, and every two languages of a model.

    `by` keeps one kind of pair: "model", "language", or "any", two cells that differ in both. `baseline` names a model,
    a language or a run, to compare the others with it alone. `measures` keeps some measures, `where` some items.
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
    differences = [found for left, right in pairs for found in _differences(left, right, cells, measures, resamples)]
    if not differences:
        raise UsageError(_why_no_differences(pairs, measures))
    return Comparison(_corrected(differences), list(_notes(differences, runs)))


def differences_between(
    left: Cell, right: Cell, measures: Sequence[str], resamples: int = RESAMPLES
) -> list[Difference]:
    """The differences of two cells, not corrected for any other; none where they share no item."""
    return list(_differences(left, right, (left, right), measures, resamples))


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
    return "language" if one.protocol == other.protocol else None


def _is(cell: Cell, name: str) -> bool:
    return name in (cell.model, cell.language, cell.run)


def _baseline_second(pair: tuple[Cell, Cell], baseline: str | None) -> tuple[Cell, Cell]:
    one, other = pair
    return (other, one) if baseline is not None and _is(one, baseline) and not _is(other, baseline) else pair


def _differences(
    left: Cell, right: Cell, cells: Sequence[Cell], measures: Sequence[str], resamples: int
) -> Iterator[Difference]:
    common = {(quantity.measure, quantity.columns) for quantity in right.quantities()}
    for quantity in left.quantities():
        if (quantity.measure, quantity.columns) not in common or (measures and quantity.measure not in measures):
            continue
        ours, theirs = left.items(quantity), right.items(quantity)
        items = ours.intersection(theirs).sort_values()
        if not len(items):
            continue
        labels = left.labels(quantity, items)
        found = contrast(
            quantity, left.values(quantity, items), right.values(quantity, items), labels, resamples=resamples
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
    families: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(differences):
        families.setdefault((one.benchmark, one.quantity.measure), []).append(place)
    corrected = list(differences)
    for places in families.values():
        for place, p_holm in zip(places, holm([differences[p].contrast.p_value for p in places]), strict=True):
            corrected[place] = replace(differences[place], p_holm=p_holm, family=len(places))
    return corrected


def _notes(differences: Sequence[Difference], runs: Sequence[tuple[str, Result]]) -> Iterator[str]:
    left_out = [one for one in differences if one.only_left or one.only_right]
    for one in {(one.of, one.part, one.left.label, one.right.label): one for one in left_out}.values():
        counts = " and ".join(
            f"{count:,} that only {side.label} has"
            for count, side in ((one.only_left, one.left), (one.only_right, one.right))
            if count
        )
        yield f"Left out of {one.of}/{one.part}: {counts}."
    for one in {(one.of, one.left.label, one.right.label): one for one in differences}.values():
        left, right = one.left.cell.protocol, one.right.cell.protocol
        if left != right:
            yield (
                f"{one.left.label} and {one.right.label} were asked by different protocols ({left}; {right}), "
                f"so part of a difference may be the protocol's."
            )
    if len({one.left.cell.language for one in differences} | {one.right.cell.language for one in differences}) > 1:
        yield "Between languages, a difference may be the translation's as much as the model's."
    yield from _other_files(runs)


def _other_files(runs: Sequence[tuple[str, Result]]) -> Iterator[str]:
    """Say so where runs on one benchmark, part and language read different files."""
    seen: dict[tuple[str, str, str], tuple[str, Any]] = {}
    for name, result in runs:
        for entry in result.manifest.get("data", []):
            key = (entry["benchmark"], entry["part"], entry["language"])
            first, files = seen.setdefault(key, (name, entry.get("files")))
            if files != entry.get("files"):
                place = f"{key[0]}/{key[1]}:{key[2]}"
                yield f"{first} and {name} read different files of {place}; items of the same id may differ."


def _known_measures(given: Sequence[str]) -> list[str]:
    known = list(dict.fromkeys(quantity.measure for quantity in QUANTITIES))
    found = [named(name, known) for name in given]
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


def _why_no_differences(pairs: Sequence[tuple[Cell, Cell]], measures: Sequence[str]) -> str:
    sharing = [(one, other) for one, other in pairs if len(one.scores.index.intersection(other.scores.index))]
    if not sharing:
        one, other = pairs[0]
        return (
            f"{one} (in {one.run}) and {other} (in {other.run}) share no items, so there is nothing to pair; run both "
            f"on the same items, with the same --limit."
        )
    one, other = sharing[0]
    shared = {q.measure for q in one.quantities()} & {q.measure for q in other.quantities()}
    there = ", ".join(q.measure for q in one.quantities() if q.measure in shared)
    if measures and shared:
        return f"{one} and {other} cannot be compared in {', '.join(measures)}; they can be in {there}."
    ours, theirs = (", ".join(map(str, cell.scores.columns)) for cell in (one, other))
    return f"{one} and {other} have no measure in common: one has scores for {ours}, the other for {theirs}."
