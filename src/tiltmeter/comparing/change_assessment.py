"""Assessment of a change to a model, such as debiasing, fine-tuning, quantisation or a system prompt.

The distance from the ideal decides: a result is closer if |after - ideal| is significantly smaller than
|before - ideal|. p-values are corrected by Holm's method, separately for the targets and for all other results.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tiltmeter.comparing.cell_selection import Selection
from tiltmeter.comparing.cells import Cell, NamedRuns, build_all_cells, list_common_fixed_factors
from tiltmeter.comparing.change_pairs import CellPair, MatchedResults, pair_cells
from tiltmeter.comparing.change_rows import (
    ChangeMeter,
    MeasuredChange,
    build_rows,
    correct_rows,
    is_control,
    measure_others,
    measure_targets,
)
from tiltmeter.comparing.change_sentences import describe_change
from tiltmeter.comparing.comparability import Across, list_comparison_warnings
from tiltmeter.comparing.comparison import describe_omitted_items
from tiltmeter.comparing.model_change import ChangeRow, ChangeVerdict, ModelChange
from tiltmeter.comparing.tuning_overlap import TuningOverlap, TuningTexts, find_overlaps
from tiltmeter.errors import UsageError
from tiltmeter.runs.file_digests import describe_changed_files
from tiltmeter.runs.fixed_factors import describe_fixed_factors
from tiltmeter.runs.sample_notes import list_sample_notes

QUALITY_MARGIN = 1.0


def assess_change(
    before: NamedRuns,
    after: NamedRuns,
    *,
    targets: Sequence[Selection] = (),
    quality_margin: float = QUALITY_MARGIN,
    tuned: TuningTexts | None = None,
    across: Sequence[Across] = (),
) -> ModelChange:
    """Compare a model before and after a change, on the same items.

    `targets` are the results that the change was meant to improve; the default is the primary measure of each
    benchmark. `quality_margin` is the largest loss of quality (LMS, accuracy) that is accepted, in percentage points.
    `tuned` are the texts that the model was tuned on, if any.
    """
    if not 0 < quality_margin < math.inf:
        raise UsageError(f"--quality-margin {quality_margin:g} must be a positive number of percentage points.")
    runs = [*before, *after]
    cells = build_all_cells(runs)
    names = [{name for name, _ in side} for side in (before, after)]
    cells_before, cells_after = ([cell for cell in cells if cell.run in side] for side in names)
    matches, notes = pair_cells(cells_before, cells_after, across)
    meter = ChangeMeter(runs, across)
    aimed = measure_targets(meter, targets, matches)
    rows = build_rows(aimed, *measure_others(meter, matches, aimed), quality_margin)
    overlaps, unknown = find_overlaps(tuned, [result for _, result in runs]) if tuned else ([], [])
    without = _measure_without_overlap(meter, targets, matches, overlaps, quality_margin)
    verdict = decide_change(rows)
    return ModelChange(
        before=matches[0].first.before.model,
        after=matches[0].first.after.model,
        verdict=verdict,
        sentence=describe_change(verdict, rows, quality_margin),
        rows=rows,
        quality_margin=quality_margin,
        overlaps=overlaps,
        without_overlap=without,
        notes=[*notes, *unknown, *_list_notes(runs, matches, rows)],
    )


def decide_change(rows: Sequence[ChangeRow]) -> ChangeVerdict:
    """Return the verdict on a change from the outcomes of all rows."""
    targets = {row.outcome for row in rows if row.role == "target"}
    is_harmful = any(row.outcome == "farther" for row in rows)
    if "closer" in targets:
        return "helped but harmed elsewhere" if is_harmful else "helped"
    return "made worse" if is_harmful else "no evidence"


def _measure_without_overlap(
    meter: ChangeMeter,
    targets: Sequence[Selection],
    matches: Sequence[MatchedResults],
    overlaps: Sequence[TuningOverlap],
    quality_margin: float,
) -> list[ChangeRow]:
    """Return the rows of the targets without the items that are similar to tuning texts; empty if no item is."""
    similar = {(overlap.benchmark, overlap.language): overlap.items for overlap in overlaps if overlap.items}
    if not similar:
        return []
    remaining = [reduced for matched in matches if (reduced := _drop_items(matched, similar)) is not None]
    kept: list[MeasuredChange] = measure_targets(meter, targets, remaining) if remaining else []
    return correct_rows([("target", change) for change in kept], quality_margin)


def _drop_items(matched: MatchedResults, similar: Mapping[tuple[str, str], frozenset[str]]) -> MatchedResults | None:
    """Return the results without these items; None if no item remains in one of the parts."""

    def drop(pair: CellPair) -> CellPair:
        dropped = similar.get((pair.before.benchmark, pair.before.language), frozenset())
        return CellPair(_select_other_items(pair.before, dropped), _select_other_items(pair.after, dropped))

    reduced = MatchedResults(tuple(map(drop, matched.parts)), drop(matched.pooled) if matched.pooled else None)
    return reduced if all(len(pair.before.scores) for pair in reduced.parts) else None


def _select_other_items(cell: Cell, dropped: frozenset[str]) -> Cell:
    """Return the cell without these items."""
    kept = ~cell.scores.index.get_level_values("item").isin(dropped)
    return replace(cell, scores=cell.scores[kept], attributes=cell.attributes[kept])


def _list_notes(runs: NamedRuns, matches: Sequence[MatchedResults], rows: Sequence[ChangeRow]) -> list[str]:
    notes = [sentence for name, result in runs for sentence in describe_changed_files(result.changed, name)]
    differences = [row.difference for row in rows]
    notes += dict.fromkeys(describe_omitted_items([row.difference for row in rows if not row.where]))
    notes += list_comparison_warnings((d.left.cell, d.right.cell, d.quantity.measure) for d in differences)
    notes += dict.fromkeys(note for _, result in runs for note in list_sample_notes(result.manifest.data))
    notes += filter(None, [describe_fixed_factors(list_common_fixed_factors(runs))])
    if controls := list(dict.fromkeys(matched.first.before.benchmark for matched in matches if is_control(matched))):
        notes.append(f"Not compared: {', '.join(controls)}, because a preference in a control data set is not a bias.")
    return notes
