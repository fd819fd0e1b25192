"""Comparison of runs item by item: models on the same items, languages on translations of the same items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

from tiltmeter.comparing.cells import Cell, build_all_cells, list_common_fixed_factors, restrict_cells
from tiltmeter.comparing.comparability import (
    Across,
    explain_incomparable,
    list_comparison_warnings,
    list_differing_conditions,
)
from tiltmeter.comparing.comparable_cells import find_unreliable_cells
from tiltmeter.comparing.missing_answer_bounds import (
    NO_MISSING_ANSWERS,
    BoundsByMeasure,
    MissingAnswerBounds,
    index_missing_answer_bounds,
)
from tiltmeter.comparing.paired_difference import (
    Comparison,
    Difference,
    Side,
    correct_test_families,
    mark_contradictions,
)
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.measures.contrasts import are_equal_scores, compute_contrast
from tiltmeter.measures.measure import Quantity, complete_name
from tiltmeter.measures.measure import list_measures as all_measures
from tiltmeter.measures.verdict import Verdict, VerdictKind
from tiltmeter.measures.verdict_rule import PORTION, Families
from tiltmeter.runs.file_digests import describe_changed_files
from tiltmeter.runs.fixed_factors import describe_fixed_factors
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import list_sample_notes

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
    families: Families = PORTION,
) -> Comparison:
    """Compare named runs: all pairs of models on the same items, and all pairs of languages of a model.

    `by` selects one type of pair: "model", "language", or "any" for pairs that differ in both. `baseline` is a model, a
    language or a run; if it is given, all others are compared only with it. `measures` selects measures by name,
    `where` selects items by the values of attributes. Results with different kinds of model, protocols, editions or
    tokenizers are compared only if `across` allows it. `families` says which tests are corrected together.
    """
    measures = complete_measure_names(measures)
    cells = build_all_cells(runs)
    cells = restrict_cells(cells, where) if where else cells
    pairs = [_order_pair(pair, baseline) for pair in list_possible_pairs(cells, by)]
    if baseline is not None:
        _reject_unknown_baseline(cells, baseline)
        pairs = [pair for pair in pairs if _matches_name(pair[1], baseline) and not _matches_name(pair[0], baseline)]
    if not pairs:
        raise UsageError(_explain_missing_pairs(cells, by, baseline))
    allowed = [pair for pair in pairs if not set(list_differing_conditions(*pair)) - set(across)]
    if not allowed:
        raise UsageError(explain_incomparable(*pairs[0], across))
    differences = [
        entry for left, right in allowed for entry in _build_differences(left, right, cells, measures, across)
    ]
    if not differences:
        raise UsageError(_explain_missing_differences(allowed, measures, across))
    notes = [sentence for name, result in runs for sentence in describe_changed_files(result.changed, name)]
    notes += [*describe_omitted_items(differences), *_describe_tokenizers(allowed, measures, across)]
    notes += dict.fromkeys(why for left, right in allowed for why in describe_undefined_measures(left, right, measures))
    notes += list_comparison_warnings((d.left.cell, d.right.cell, d.quantity.measure) for d in differences)
    notes += dict.fromkeys(sample for _, result in runs for sample in list_sample_notes(result.manifest.data))
    notes += filter(None, [describe_fixed_factors(list_common_fixed_factors(runs))])
    if left_out := [pair for pair in pairs if pair not in allowed]:
        notes.append(
            f"Not compared: {len(left_out)} of {len(pairs)} pairs. {explain_incomparable(*left_out[0], across)}"
        )
    corrected = mark_unreliable_sides(correct_test_families(differences, families), runs, where)
    return Comparison(mark_contradictions(corrected), notes)


def compute_differences(
    left: Cell, right: Cell, measures: Sequence[str], across: Sequence[Across] = ()
) -> list[Difference]:
    """Return the differences between two cells (one model each), without a correction for multiple tests.

    The list is empty if the cells share no items.
    """
    return list(_build_differences(left, right, (left, right), measures, across))


def list_possible_pairs(cells: Sequence[Cell], by: By | None) -> list[tuple[Cell, Cell]]:
    """Return the pairs of cells (one model and language each) on the same part, including incomparable pairs."""
    wanted = (by,) if by else ("model", "language")
    return [(cell, other) for cell, other in combinations(cells, 2) if _classify_pair(cell, other) in wanted]


def _classify_pair(cell: Cell, other: Cell) -> By | None:
    """Return the type of a pair of results (cells); None if benchmark or part differ."""
    if (cell.benchmark, cell.part) != (other.benchmark, other.part):
        return None
    if cell.language == other.language:
        return "model"  # this includes pairs of one model with two protocols, or in two runs
    if cell.model != other.model:
        return "any"
    return "language"


def _matches_name(cell: Cell, name: str) -> bool:
    return name in (cell.model, cell.language, cell.run)


def _order_pair(pair: tuple[Cell, Cell], baseline: str | None) -> tuple[Cell, Cell]:
    left, right = pair
    return (
        (right, left)
        if baseline is not None and _matches_name(left, baseline) and not _matches_name(right, baseline)
        else pair
    )


def _build_differences(
    left: Cell, right: Cell, cells: Sequence[Cell], measures: Sequence[str], across: Sequence[Across]
) -> Iterator[Difference]:
    common = right.list_quantities()
    for quantity in left.list_quantities():
        if quantity not in common or (measures and quantity.name not in measures):
            continue
        if _has_other_tokenizer(left, right, quantity, across):
            continue
        ours, theirs = left.list_items(quantity), right.list_items(quantity)
        items = ours.intersection(theirs).sort_values()
        if not len(items) or not left.supports_quantity(quantity, items):
            continue
        roles = list(quantity.values.roles)
        result = compute_contrast(
            quantity,
            left.compute_item_values(quantity, items),
            right.compute_item_values(quantity, items),
            left.get_strata(quantity, items),
            left.build_factors(quantity, items),
            sides=left.get_stratum_sides(quantity, items),
            identical=are_equal_scores(
                left.scores.loc[items, roles].to_numpy(dtype=float),
                right.scores.loc[items, roles].to_numpy(dtype=float),
            ),
        )
        yield Difference(
            subject=_format_subject(left, right),
            benchmark=left.benchmark,
            part=left.part,
            left=Side(_format_label(left, right, cells), left),
            right=Side(_format_label(right, left, cells), right),
            quantity=quantity,
            contrast=result,
            items=items,
            only_left=len(ours) - len(items),
            only_right=len(theirs) - len(items),
        )


def describe_undefined_measures(left: Cell, right: Cell, measures: Sequence[str]) -> Iterator[str]:
    """Yield a message for each measure that compares men and women, if all shared items are about only one of them."""
    for quantity in left.list_quantities():
        if quantity not in right.list_quantities() or (measures and quantity.name not in measures):
            continue
        items = left.list_items(quantity).intersection(right.list_items(quantity))
        if len(items) and not left.supports_quantity(quantity, items):
            yield (
                f"{quantity.name} is not defined on the items that {left} and {right} share: they are all for one "
                "side, men or women, but the measure compares the two."
            )


def _has_other_tokenizer(left: Cell, right: Cell, quantity: Quantity, across: Sequence[Across]) -> bool:
    """Return whether a measure is a mean over tokens, the tokenizers differ, and `across` does not allow tokenizers."""
    return "tokenizers" in set(list_differing_conditions(left, right, quantity.measure)) - set(across)


def _describe_tokenizers(
    pairs: Sequence[tuple[Cell, Cell]], measures: Sequence[str], across: Sequence[Across]
) -> Iterator[str]:
    """Yield a note on the measures that are left out because the tokenizers differ."""
    left_out: dict[str, tuple[Cell, Cell, Quantity]] = {}
    for left, right in pairs:
        for quantity in left.list_quantities():
            wanted = quantity in right.list_quantities() and (not measures or quantity.name in measures)
            if wanted and _has_other_tokenizer(left, right, quantity, across):
                left_out.setdefault(quantity.name, (left, right, quantity))
    if left_out:
        left, right, quantity = next(iter(left_out.values()))
        yield f"Not compared: {', '.join(left_out)}. {explain_incomparable(left, right, across, quantity.measure)}"


def _format_subject(left: Cell, right: Cell) -> str:
    """Return the common properties of two sides as text: benchmark and language, model and benchmark, or benchmark."""
    if left.language == right.language:
        return f"{left.benchmark}:{left.language}"
    return f"{left.model} on {left.benchmark}" if left.model == right.model else left.benchmark


def _format_label(cell: Cell, other: Cell, cells: Sequence[Cell]) -> str:
    if cell.language != other.language:
        return cell.language if cell.model == other.model else f"{cell.model}:{cell.language}"
    # A model that occurs twice is labelled with its protocol, or with its run if the protocols are the same.
    alike = [c for c in cells if c.model == cell.model and c.location == cell.location]
    if len(alike) == 1:
        return cell.model
    return f"{cell.model} ({cell.protocol if len({c.protocol for c in alike}) == len(alike) else cell.run})"


def mark_unreliable_sides(
    differences: Sequence[Difference], runs: Sequence[tuple[str, Result]], where: Mapping[str, str] | None = None
) -> list[Difference]:
    """Return the differences, with the effect of missing answers and the unreliable verdicts on each side added.

    Unreliable verdicts are added only for measures of bias. Verdicts and missing answers are those of the runs, on the
    items that `where` selects.
    """
    verdicts, bounds = find_unreliable_cells(runs, where), index_missing_answer_bounds(runs, where)
    return [
        replace(
            difference,
            missing=_find_missing_answer_bounds(difference, bounds),
            doubts=_list_reasons(difference, verdicts, "not interpretable"),
            contradiction="; ".join(_list_reasons(difference, verdicts, "contradictory")),
        )
        if difference.quantity.measure.is_about_bias
        else replace(difference, missing=_find_missing_answer_bounds(difference, bounds))
        for difference in differences
    ]


def _find_missing_answer_bounds(difference: Difference, bounds: BoundsByMeasure) -> MissingAnswerBounds:
    left, right = (
        bounds.get((*side.cell.key, difference.quantity.name), NO_MISSING_ANSWERS)
        for side in (difference.left, difference.right)
    )
    return left.subtract_bounds(right)


def _list_reasons(
    difference: Difference, verdicts: Mapping[tuple[str, ...], Verdict], kind: VerdictKind
) -> tuple[str, ...]:
    """Return the label and the reason of each side of a difference that has a verdict of this kind."""
    return tuple(
        f"{side.label}: {verdicts[side.cell.key].reason}"
        for side in (difference.left, difference.right)
        if side.cell.key in verdicts and verdicts[side.cell.key].kind == kind
    )


def describe_omitted_items(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield notes on how many items are left out because only one side of a comparison has them."""
    left_out = [d for d in differences if d.only_left or d.only_right]
    for d in {(d.subject, d.part, d.left.label, d.right.label): d for d in left_out}.values():
        counts = " and ".join(
            f"{count:,} items that only {side.label} has"
            for count, side in ((d.only_left, d.left), (d.only_right, d.right))
            if count
        )
        yield f"Left out of {d.subject}/{d.part}: {counts}."


def complete_measure_names(given: Sequence[str]) -> list[str]:
    """Return the full names of measures; raise an error for a measure that cannot be compared."""
    known = [name for name, measure in all_measures().items() if measure.items]
    full_names = [complete_name(name, known) for name in given]
    for name, measure in zip(given, full_names, strict=True):
        if measure is None:
            raise UsageError(
                f"There is no measure {name!r} for comparisons{suggest_name(name, known)}; use {', '.join(known)}."
            )
    return [measure for measure in full_names if measure is not None]


def _reject_unknown_baseline(cells: Sequence[Cell], baseline: str) -> None:
    names = list(dict.fromkeys(name for cell in cells for name in (cell.model, cell.language, cell.run)))
    if baseline not in names:
        raise UsageError(
            f"The baseline {baseline!r} is no model, language or run in the data{suggest_name(baseline, names)}; "
            f"use one of {', '.join(names)}."
        )


def _explain_missing_pairs(cells: Sequence[Cell], by: By | None, baseline: str | None) -> str:
    if not cells:
        return "The runs contain no scores; repeat them."
    measured = list(dict.fromkeys(f"{cell.model} on {cell.benchmark}:{cell.language}" for cell in cells))
    content = f"The runs contain {'; '.join(measured[:6])}{' …' if len(measured) > 6 else ''}"
    if len(measured) == 1 and len({cell.run for cell in cells}) == 1:
        return f"{content}, and nothing to compare it with; give a second run, of another model or another language."
    if baseline is not None and list_possible_pairs(cells, by):
        return f"{content}, and nothing that can be compared with {baseline}; omit --baseline to see all pairs."
    others = [kind for kind in BY if kind != by and list_possible_pairs(cells, kind)]
    if others:
        wanted = f"--by {by}" if by else "the default comparison"
        return f"{content}, and no two of them are a pair for {wanted}; use --by {others[0]}."
    return f"{content}, and no two of them on the same benchmark and part; measure all models on the same data."


def _explain_missing_differences(
    pairs: Sequence[tuple[Cell, Cell]], measures: Sequence[str], across: Sequence[Across]
) -> str:
    sharing = [(left, right) for left, right in pairs if len(left.scores.index.intersection(right.scores.index))]
    if not sharing:
        left, right = pairs[0]
        return (
            f"{left} (in {left.run}) and {right} (in {right.run}) share no items, so they cannot be compared; run both "
            "on the same items, with the same --limit."
        )
    left, right = sharing[0]
    shared = [quantity for quantity in left.list_quantities() if quantity in right.list_quantities()]
    wanted = [q for q in shared if not measures or q.name in measures]
    if by_token := [q for q in wanted if _has_other_tokenizer(left, right, q, across)]:
        return explain_incomparable(left, right, across, by_token[0].measure)
    if undefined := next(describe_undefined_measures(left, right, measures), ""):
        return undefined
    if measures and shared:
        names = ", ".join(quantity.name for quantity in shared)
        return f"{left} and {right} cannot be compared in {', '.join(measures)}; the common measures are {names}."
    if not left.list_quantities() and not right.list_quantities():
        return (
            f"The measures of {left} and {right} have no contributions of single items, so the runs cannot be "
            "compared item by item; `tiltmeter show` prints their values and intervals."
        )
    ours, theirs = (", ".join(map(str, cell.scores.columns)) for cell in (left, right))
    return f"{left} and {right} have no measure in common: one has scores for the roles {ours}, the other for {theirs}."
