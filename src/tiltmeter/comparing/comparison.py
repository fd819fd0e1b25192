"""Compare runs item by item: models on the same items, and languages on translations of the same items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

from tiltmeter.comparing.cells import Cell, cells_of, restrict
from tiltmeter.comparing.comparability import Across, differing, refusal, warnings
from tiltmeter.comparing.paired_difference import Comparison, Difference, Side, contradicted, corrected_over_families
from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.errors import UsageError
from tiltmeter.measures.contrasts import contrast, equal_up_to_rounding
from tiltmeter.measures.measure import Quantity, abbreviated
from tiltmeter.measures.measure import measures as all_measures
from tiltmeter.measures.records import Record
from tiltmeter.runs.file_digests import on_changed
from tiltmeter.runs.result import Result
from tiltmeter.runs.samples import sample_notes

By = Literal["model", "language", "any"]
BY: tuple[By, ...] = ("model", "language", "any")


def compare(
    runs: Sequence[tuple[str, Result]],
    *,
    by: By | None = None,
    baseline: str | None = None,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
) -> Comparison:
    """Compare named runs: every pair of models on the same items, and every pair of languages of a model.

    `by` selects one kind of pair: "model", "language", or "any", pairs that differ in both. `baseline` is a model, a
    language or a run with which all others are compared. `measures` selects measures, `where` items by attribute.
    Models of different kinds, protocols, editions of the data or tokenizers are compared only if `across` allows it.
    """
    measures = known_measures(measures)
    cells = [cell for name, result in runs for cell in cells_of(name, result)]
    cells = restrict(cells, where) if where else cells
    pairs = [_baseline_second(pair, baseline) for pair in possible_pairs(cells, by)]
    if baseline is not None:
        _refuse_unknown_baseline(cells, baseline)
        pairs = [pair for pair in pairs if _is(pair[1], baseline) and not _is(pair[0], baseline)]
    if not pairs:
        raise UsageError(_why_no_pairs(cells, by, baseline))
    allowed = [pair for pair in pairs if not set(differing(*pair)) - set(across)]
    if not allowed:
        raise UsageError(refusal(*pairs[0], across))
    differences = [entry for left, right in allowed for entry in _differences(left, right, cells, measures, across)]
    if not differences:
        raise UsageError(_why_no_differences(allowed, measures, across))
    notes = [sentence for name, result in runs for sentence in on_changed(result.changed, name)]
    notes += [*_notes(differences), *_notes_on_tokenizers(allowed, measures, across)]
    notes += dict.fromkeys(why for left, right in allowed for why in undefined(left, right, measures))
    notes += warnings((d.left.cell, d.right.cell, d.quantity.measure) for d in differences)
    notes += dict.fromkeys(sample for _, result in runs for sample in sample_notes(result.manifest.data))
    if left_out := [pair for pair in pairs if pair not in allowed]:
        notes.append(f"Not compared: {len(left_out)} of {len(pairs)} pairs. {refusal(*left_out[0], across)}")
    return Comparison(contradicted(doubted(corrected_over_families(differences), runs)), notes)


def differences_between(
    left: Cell, right: Cell, measures: Sequence[str], across: Sequence[Across] = ()
) -> list[Difference]:
    """The differences between two cells, not corrected for multiple tests; empty if they share no item."""
    return list(_differences(left, right, (left, right), measures, across))


def possible_pairs(cells: Sequence[Cell], by: By | None) -> list[tuple[Cell, Cell]]:
    """The pairs of cells on the same part of a benchmark, whether they are comparable or not."""
    wanted = (by,) if by else ("model", "language")
    return [(cell, other) for cell, other in combinations(cells, 2) if _kind(cell, other) in wanted]


def _kind(cell: Cell, other: Cell) -> By | None:
    """The kind of pair that two cells are; None if they are on different benchmarks or parts."""
    if (cell.benchmark, cell.part) != (other.benchmark, other.part):
        return None
    if cell.language == other.language:
        return "model"  # or the same model with another protocol or in another run
    if cell.model != other.model:
        return "any"
    return "language"


def _is(cell: Cell, name: str) -> bool:
    return name in (cell.model, cell.language, cell.run)


def _baseline_second(pair: tuple[Cell, Cell], baseline: str | None) -> tuple[Cell, Cell]:
    left, right = pair
    return (right, left) if baseline is not None and _is(left, baseline) and not _is(right, baseline) else pair


def _differences(
    left: Cell, right: Cell, cells: Sequence[Cell], measures: Sequence[str], across: Sequence[Across]
) -> Iterator[Difference]:
    common = right.quantities()
    for quantity in left.quantities():
        if quantity not in common or (measures and quantity.name not in measures):
            continue
        if _tokenizers_differ(left, right, quantity, across):
            continue
        ours, theirs = left.items(quantity), right.items(quantity)
        items = ours.intersection(theirs).sort_values()
        if not len(items) or not left.defines(quantity, items):
            continue
        roles = list(quantity.values.roles)
        result = contrast(
            quantity,
            left.values(quantity, items),
            right.values(quantity, items),
            left.labels(quantity, items),
            left.clusters(quantity, items),
            sides=left.sides(quantity, items),
            identical=equal_up_to_rounding(
                left.scores.loc[items, roles].to_numpy(dtype=float),
                right.scores.loc[items, roles].to_numpy(dtype=float),
            ),
        )
        yield Difference(
            subject=_subject(left, right),
            benchmark=left.benchmark,
            part=left.part,
            left=Side(_label(left, right, cells), left),
            right=Side(_label(right, left, cells), right),
            quantity=quantity,
            contrast=result,
            items=items,
            only_left=len(ours) - len(items),
            only_right=len(theirs) - len(items),
        )


def undefined(left: Cell, right: Cell, measures: Sequence[str]) -> Iterator[str]:
    """A sentence for each measure of these that compares two sides, where the shared items are of one side only."""
    for quantity in left.quantities():
        if quantity not in right.quantities() or (measures and quantity.name not in measures):
            continue
        items = left.items(quantity).intersection(right.items(quantity))
        if len(items) and not left.defines(quantity, items):
            yield (
                f"{quantity.name} is not defined on the items that {left} and {right} share: they are all for one "
                "side, men or women, and it compares the two."
            )


def _tokenizers_differ(left: Cell, right: Cell, quantity: Quantity, across: Sequence[Across]) -> bool:
    """Whether a measure is a mean over tokens of different tokenizers, which `across` does not allow."""
    return "tokenizers" in set(differing(left, right, quantity.measure)) - set(across)


def _notes_on_tokenizers(
    pairs: Sequence[tuple[Cell, Cell]], measures: Sequence[str], across: Sequence[Across]
) -> Iterator[str]:
    """A note on the measures left out because the tokenizers differ."""
    left_out: dict[str, tuple[Cell, Cell, Quantity]] = {}
    for left, right in pairs:
        for quantity in left.quantities():
            wanted = quantity in right.quantities() and (not measures or quantity.name in measures)
            if wanted and _tokenizers_differ(left, right, quantity, across):
                left_out.setdefault(quantity.name, (left, right, quantity))
    if left_out:
        left, right, quantity = next(iter(left_out.values()))
        yield f"Not compared: {', '.join(left_out)}. {refusal(left, right, across, quantity.measure)}"


def _subject(left: Cell, right: Cell) -> str:
    """What two cells have in common: benchmark and language, model and benchmark, or the benchmark only."""
    if left.language == right.language:
        return f"{left.benchmark}:{left.language}"
    return f"{left.model} on {left.benchmark}" if left.model == right.model else left.benchmark


def _label(cell: Cell, other: Cell, cells: Sequence[Cell]) -> str:
    if cell.language != other.language:
        return cell.language if cell.model == other.model else f"{cell.model}:{cell.language}"
    # A model that occurs twice is labelled with its protocol, or with its run if the protocols are the same.
    alike = [c for c in cells if c.model == cell.model and c.location == cell.location]
    if len(alike) == 1:
        return cell.model
    return f"{cell.model} ({cell.protocol if len({c.protocol for c in alike}) == len(alike) else cell.run})"


def doubted(differences: Sequence[Difference], runs: Sequence[tuple[str, Result]]) -> list[Difference]:
    """The differences with the doubts added for measures of bias in which a side is not interpretable."""
    reasons: dict[tuple[str, ...], str] = {}
    for name, result in runs:
        for record in result.records:
            verdict = record.verdict
            if record.view == "all" and verdict is not None and verdict.kind == "not interpretable":
                reasons[(name, *_key(record))] = verdict.reason
    return [
        replace(
            difference,
            doubts=tuple(
                f"{side.label}: {reasons[key]}"
                for side in (difference.left, difference.right)
                if (key := (side.cell.run, *_key(side.cell))) in reasons
            ),
        )
        if difference.quantity.measure.bias_direction
        else difference
        for difference in differences
    ]


def _key(row: Cell | Record) -> tuple[str, ...]:
    return row.model, row.benchmark, row.part, row.language, row.protocol


def _notes(differences: Sequence[Difference]) -> Iterator[str]:
    """The numbers of items left out because only one side has them."""
    left_out = [d for d in differences if d.only_left or d.only_right]
    for d in {(d.subject, d.part, d.left.label, d.right.label): d for d in left_out}.values():
        counts = " and ".join(
            f"{count:,} that only {side.label} has"
            for count, side in ((d.only_left, d.left), (d.only_right, d.right))
            if count
        )
        yield f"Left out of {d.subject}/{d.part}: {counts}."


def known_measures(given: Sequence[str]) -> list[str]:
    """The full names of measures that can be compared; a UsageError names one that cannot."""
    known = [name for name, measure in all_measures().items() if measure.items]
    full_names = [abbreviated(name, known) for name in given]
    for name, measure in zip(given, full_names, strict=True):
        if measure is None:
            raise UsageError(
                f"There is no measure {name!r} to compare in{did_you_mean(name, known)}; there is {', '.join(known)}."
            )
    return [measure for measure in full_names if measure is not None]


def _refuse_unknown_baseline(cells: Sequence[Cell], baseline: str) -> None:
    names = list(dict.fromkeys(name for cell in cells for name in (cell.model, cell.language, cell.run)))
    if baseline not in names:
        raise UsageError(
            f"The baseline {baseline!r} is no model, language or run here{did_you_mean(baseline, names)}; "
            f"there is {', '.join(names)}."
        )


def _why_no_pairs(cells: Sequence[Cell], by: By | None, baseline: str | None) -> str:
    if not cells:
        return "The runs hold no scores; make them again."
    measured = list(dict.fromkeys(f"{cell.model} on {cell.benchmark}:{cell.language}" for cell in cells))
    held = f"The runs hold {'; '.join(measured[:6])}{' …' if len(measured) > 6 else ''}"
    if len(measured) == 1 and len({cell.run for cell in cells}) == 1:
        return f"{held}, and nothing to compare it with; give a second run, of another model or another language."
    if baseline is not None and possible_pairs(cells, by):
        return f"{held}, and nothing that could be compared with {baseline}; leave --baseline out to see all pairs."
    others = [kind for kind in BY if kind != by and possible_pairs(cells, kind)]
    if others:
        wanted = f"--by {by}" if by else "what is compared by default"
        return f"{held}, and no two of them are a pair for {wanted}; use --by {others[0]}."
    return f"{held}, and no two of them on the same benchmark and part; run them on the same one."


def _why_no_differences(pairs: Sequence[tuple[Cell, Cell]], measures: Sequence[str], across: Sequence[Across]) -> str:
    sharing = [(left, right) for left, right in pairs if len(left.scores.index.intersection(right.scores.index))]
    if not sharing:
        left, right = pairs[0]
        return (
            f"{left} (in {left.run}) and {right} (in {right.run}) share no items, so there is nothing to pair; run "
            f"both on the same items, with the same --limit."
        )
    left, right = sharing[0]
    shared = [quantity for quantity in left.quantities() if quantity in right.quantities()]
    wanted = [q for q in shared if not measures or q.name in measures]
    if by_token := [q for q in wanted if _tokenizers_differ(left, right, q, across)]:
        return refusal(left, right, across, by_token[0].measure)
    if not_defined := next(undefined(left, right, measures), ""):
        return not_defined
    if measures and shared:
        names = ", ".join(quantity.name for quantity in shared)
        return f"{left} and {right} cannot be compared in {', '.join(measures)}; they can be in {names}."
    if not left.quantities() and not right.quantities():
        return (
            f"The measures of {left} and {right} define no contributions of single items, so the runs cannot be "
            "compared item by item; `tiltmeter show` prints their numbers and intervals."
        )
    ours, theirs = (", ".join(map(str, cell.scores.columns)) for cell in (left, right))
    return f"{left} and {right} have no measure in common: one has scores for {ours}, the other for {theirs}."
