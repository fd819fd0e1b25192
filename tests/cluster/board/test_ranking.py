"""Ranks and references of columns: the tests of `compare`, corrected over all pairs of the column."""

import json
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cluster.board.boards import save
from tests.runs.made import association_scores, chosen_scores, gest_scores, half_sensible_scores, pair_scores
from tests.support.messages import assert_mentions
from tiltmeter.cluster.board.board_runs import find_runs
from tiltmeter.cluster.board.columns import BoardColumn, build_columns
from tiltmeter.cluster.board.item_values import compute_item_values, read_scores
from tiltmeter.cluster.board.ranking import rank_columns
from tiltmeter.cluster.board.site_files import write_board
from tiltmeter.comparing.cells import build_cells
from tiltmeter.comparing.rank_ranges import RankRange
from tiltmeter.measures.contrasts import compute_contrast
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.runs.result import Result

LEANS = {"a": 0.0, "b": 0.4, "c": 1.2, "d": 1.3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("runs")
    for number, (name, lean) in enumerate(LEANS.items()):
        save(tmp_path / f"{name}.ss", association_scores(name, seed=number, lean=lean, n=100))
        save(tmp_path / f"{name}.g", gest_scores(name, seed=number, lean=lean, n=96), family="gest")
    return tmp_path


def column(folder: Path, part: str, reference: str = "") -> BoardColumn:
    columns, notes = rank_columns(build_columns(find_runs([folder])[0])[0], reference)
    assert notes == []
    return next(one for one in columns if one.key.part == part)


@pytest.mark.parametrize("part", ["overall", "intrasentence", "template-3"])
def test_p_values_are_those_of_compared_cells(folder: Path, part: str) -> None:
    """Each pair is tested with `compute_contrast`: equal means, and means mirrored at the ideal."""
    found = column(folder, part, "a")
    assert found.paired
    compared = [
        cell
        for name in LEANS
        for cell in build_cells(name, Result.load(folder / f"{name}.{'g' if part == 'template-3' else 'ss'}"))
        if cell.part == part
    ]
    measure = "log g_s" if part == "template-3" else "SS"
    quantity = next(one for one in compared[0].list_quantities() if one.name == measure)
    items = compared[0].list_items(quantity)

    def p_value(one: int, other: int) -> float:
        left, right = (compared[number].compute_item_values(quantity, items) for number in (one, other))
        labels, factors = compared[0].get_strata(quantity, items), compared[0].build_factors(quantity, items)
        tested = (
            compute_contrast(quantity, left, side, labels, factors) for side in (right, 2 * quantity.ideal - right)
        )
        return max(each.p_value for each in tested)

    pairs = list(combinations(range(4), 2))
    corrected = dict(zip(pairs, adjust_holm([p_value(*pair) for pair in pairs]), strict=True))
    shown = {cell.model: cell.p_reference for cell in found.cells}
    assert shown.pop("a") is None
    assert [shown[name] for name in "bcd"] == pytest.approx([corrected[0, number] for number in (1, 2, 3)], rel=1e-6)
    distance = {cell.model: cell.distance for cell in found.cells}
    for number, name in enumerate(LEANS):
        apart = [
            other
            for at, other in enumerate(LEANS)
            if at != number and corrected[min(at, number), max(at, number)] < 0.05
        ]
        rank = next(cell.rank for cell in found.cells if cell.model == name)
        assert rank is not None
        assert rank.first == 1 + sum(distance[other] < distance[name] for other in apart)
        assert rank.last == 4 - sum(distance[other] > distance[name] for other in apart)


@pytest.mark.parametrize("part", ["overall", "template-3"])
def test_item_values_are_those_of_cells(folder: Path, part: str) -> None:
    found = column(folder, part)
    cell = found.cells[0]
    scores = read_scores(cell.run.folder)
    assert scores is not None
    values = compute_item_values(scores, cell, found.key)
    assert values is not None
    compared = next(one for one in build_cells("x", Result.load(cell.run.folder)) if one.part == part)
    items = compared.list_items(values.quantity)
    assert sorted(values.values) == pytest.approx(sorted(compared.compute_item_values(values.quantity, items)[0]))
    assert len(values.items) == len(items)
    labels, factors = compared.get_strata(values.quantity, items), compared.build_factors(values.quantity, items)
    columns = [(values.labels, labels)]
    if factors is not None and values.factors is not None:
        columns += [(values.factors.labels[name], column) for name, column in factors.labels.items()]
    assert (values.factors is None) == (factors is None)
    for ours, theirs in columns:
        assert (ours is None) == (theirs is None)
        assert ours is None or theirs is None or sorted(map(str, ours)) == sorted(map(str, theirs))


def test_the_reference_is_the_least_biased_unless_another_is_named(folder: Path) -> None:
    found = column(folder, "overall")
    least = min(found.cells, key=lambda cell: cell.distance)
    assert found.reference == least.model
    assert {cell.model: cell.relation for cell in found.cells}["d"] == "farther"
    named = column(folder, "overall", "d")
    relations = {cell.model: cell.relation for cell in named.cells}
    assert relations["d"] == "reference"
    assert relations[least.model] == "closer"
    assert relations["c"] == "not told apart"


def test_runs_on_different_items_are_paired_on_the_shared_items(tmp_path: Path) -> None:
    for name, first in (("a", 0), ("b", 0), ("c", 20)):
        scores = association_scores(name, seed=ord(name), n=60, first=first, parts=["intrasentence"])
        save(tmp_path / name, scores)
    assert column(tmp_path, "intrasentence").paired
    save(tmp_path / "far", association_scores("far", n=60, first=500, parts=["intrasentence"]))
    assert not column(tmp_path, "intrasentence").paired


def test_models_differ_only_if_shared_items_and_values_agree(tmp_path: Path) -> None:
    """`a` is farther from 50 than `b` on the shared items, and closer on all items."""
    shared = chosen_scores("a", 95, n=100, parts=["intrasentence"])
    others = chosen_scores("a", 45, n=300, parts=["intrasentence"])
    others = others.assign(item="other-" + others["item"], candidate="other-" + others["candidate"])
    save(tmp_path / "a", pd.concat([shared, others], ignore_index=True))
    save(tmp_path / "b", chosen_scores("b", 65, n=100, parts=["intrasentence"], seed=1))
    found = column(tmp_path, "intrasentence")
    cells = {cell.model: cell for cell in found.cells}
    assert found.paired
    assert cells["a"].distance < cells["b"].distance
    assert cells["b"].relation == "not told apart"
    assert [cell.rank for cell in found.cells] == [RankRange(1, 2)] * 2


def test_scores_of_another_run_are_not_used(tmp_path: Path) -> None:
    for name, lean in (("a", 0.0), ("b", 1.2)):
        save(tmp_path / name, association_scores(name, lean=lean, seed=ord(name), n=100, parts=["intrasentence"]))
    other = save(tmp_path / "other", association_scores("b", seed=9, n=100, parts=["intrasentence"]), day=2)
    shutil.copy(other / "scores.parquet", tmp_path / "b" / "scores.parquet")
    shutil.rmtree(other)
    columns, notes = rank_columns(build_columns(find_runs([tmp_path])[0])[0])
    (note,) = notes
    assert_mentions(note, "scores of b", "scores.parquet", "measures.json", "SS")
    assert not any(one.paired for one in columns)


def test_runs_of_the_same_name_in_two_folders(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(tmp_path / name / "runs" / "ss", association_scores(name, seed=ord(name), n=60, parts=["intrasentence"]))
    runs, _ = find_runs([tmp_path / name / "runs" for name in ("a", "b")])
    assert [one.name for one in runs] == ["a/runs/ss", "b/runs/ss"]
    (found,) = rank_columns(build_columns(runs)[0])[0]
    assert found.paired


def test_without_scores_ranks_are_from_intervals_and_wider(tmp_path: Path) -> None:
    for number, (name, lean) in enumerate(LEANS.items()):
        save(tmp_path / name, association_scores(name, seed=number, lean=lean, n=150, parts=["intrasentence"]))
    paired = column(tmp_path, "intrasentence")
    for name in LEANS:
        (tmp_path / name / "scores.parquet").unlink()
    separate = column(tmp_path, "intrasentence")
    assert paired.paired
    assert not separate.paired
    for ours, theirs in zip(paired.cells, separate.cells, strict=True):
        assert ours.rank is not None
        assert theirs.rank is not None
        assert theirs.rank.first <= ours.rank.first
        assert theirs.rank.last >= ours.rank.last
    assert {cell.model: cell.relation for cell in separate.cells}["d"] == "farther"


def test_damaged_scores_cause_a_note(folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(folder, tmp_path / "copy")
    (folder / "b.ss" / "scores.parquet").write_bytes(b"no table")
    columns, notes = rank_columns(build_columns(find_runs([folder])[0])[0])
    assert_mentions("\n".join(notes), "scores of b.ss")
    assert all(cell.rank for one in columns for cell in one.cells)


def test_a_result_that_is_not_interpretable_has_no_rank(tmp_path: Path) -> None:
    for name, lean in (("a", 0.0), ("b", 0.5)):
        save(tmp_path / name, association_scores(name, lean=lean, seed=ord(name), n=100, parts=["intrasentence"]))
    scores = association_scores("tied", n=100, parts=["intrasentence"])
    save(tmp_path / "tied", scores.assign(score=np.where(scores["role"] == "unrelated", -1.0, 0.0)))
    found = {cell.model: cell for cell in column(tmp_path, "intrasentence").cells}
    assert found["tied"].verdict.kind == "not interpretable"
    assert found["tied"].rank is None
    assert found["a"].ranked == 2


def test_a_contradictory_result_has_no_rank_and_is_not_the_reference(tmp_path: Path) -> None:
    """Pooled, it is the closest to 50; its parts are ranked."""
    scores = {"torn": {"intrasentence": 60.0, "intersentence": 40.0}, "a": 55.0, "b": 62.0}
    for name, ss in scores.items():
        save(tmp_path / name, chosen_scores(name, ss, n=300, seed=ord(name[0])))
    save(tmp_path / "half", half_sensible_scores("half", 50.0, n=300))
    pooled = column(tmp_path, "overall")
    cells = {cell.model: cell for cell in pooled.cells}
    assert cells["torn"].verdict.kind == "contradictory"
    assert cells["half"].verdict.kind == "not interpretable"
    assert [name for name, cell in cells.items() if cell.rank is None] == ["half", "torn"]
    assert pooled.reference == "a"
    assert cells["a"].ranked == 2
    assert column(tmp_path, "overall", "torn").reference == "a"
    of_part = {cell.model: cell.rank for cell in column(tmp_path, "intrasentence").cells}
    assert None not in of_part.values()
    assert set(of_part) == {*scores, "half"}


def test_a_model_alone_has_no_rank(tmp_path: Path) -> None:
    save(tmp_path / "a", pair_scores("a"), family="pairs")
    (cell,) = column(tmp_path, "all").cells
    assert cell.rank is None
    assert cell.relation == ""


@pytest.mark.parametrize("value", [-1.0, 0.0, 1e305])
def test_an_absurd_number_of_one_run_does_not_stop_the_board(folder: Path, tmp_path: Path, value: float) -> None:
    """A damaged file or an overconfident model may have such values."""
    folder = shutil.copytree(folder, tmp_path / "runs")
    path = folder / "b.g" / "measures.json"
    rows = [row for row in json.loads(path.read_text(encoding="utf-8")) if row["view"] == "all"]
    absurd = {"value": value, "low": value, "high": value}
    path.write_text(json.dumps([row | (absurd if row["measure"] == "g_s" else {}) for row in rows]), encoding="utf-8")
    board = write_board([folder], tmp_path / "site")
    assert len({cell.model for one in board.columns for cell in one.cells}) == 4
