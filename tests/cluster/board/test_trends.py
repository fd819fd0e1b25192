"""Trends: the positions of the points of a series."""

from itertools import pairwise
from pathlib import Path

from tests.cluster.board.boards import save
from tests.runs.made import association_scores
from tiltmeter.cluster.board.board_content import make_board
from tiltmeter.cluster.board.trends import TrendFigure, build_trends


def figure(folder: Path, steps: list[int]) -> TrendFigure:
    plan = ""
    for step in steps:
        save(folder / f"step{step}", association_scores(f"m@step{step}", seed=step, n=20, parts=["intrasentence"]))
        plan += f'[[models]]\nname = "m"\nrevision = "step{step}"\nseries = "m"\nstep = {step}\n'
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    (trend,) = build_trends(make_board([folder]))
    (found,) = trend.figures
    return found


def test_many_steps_are_on_a_logarithmic_scale(tmp_path: Path) -> None:
    found = figure(tmp_path, [1, 10, 100])
    first, middle, last = (point.x for point in found.points)
    assert found.is_logarithmic
    assert abs(middle - first - (last - middle)) < 0.2


def test_step_0_does_not_squeeze_the_others(tmp_path: Path) -> None:
    """The steps of Pythia are 0, 1, 2, 4, …, 143000."""
    found = figure(tmp_path, [0, 1, 100, 10_000])
    places = [point.x for point in found.points]
    assert found.is_logarithmic
    assert all(later - earlier > 20 for earlier, later in pairwise(places))


def test_few_steps_are_on_a_linear_scale(tmp_path: Path) -> None:
    found = figure(tmp_path, [0, 10, 20])
    assert not found.is_logarithmic
    assert found.points[1].x * 2 == found.points[0].x + found.points[2].x
