"""The option `--figure` of `tiltmeter reproduce`: draw a figure of a paper."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from tiltmeter.papers.reproduction import Reproduction
    from tiltmeter.papers.sources.recipe_context import RecipeContext
    from tiltmeter.reports.figures.figure import Figure


def write_number_figure(
    paper: str, number: str, folder: Path, reproduction: "Reproduction", context: "RecipeContext"
) -> None:
    """Write a figure with the printed and the recomputed numbers of the tables of a paper."""
    from tiltmeter.papers.figures.paper_figures import draw_numbers

    _save([(paper, draw_numbers(paper, number, reproduction, context))], folder)


def write_data_figure(paper: str, number: str, folder: Path) -> bool:
    """Write a figure of a paper about its data; return False if the figure shows something else."""
    from tiltmeter.papers.figures.thesis_figures import NUMBERS, PAPER, draw_data
    from tiltmeter.papers.sources.recipe_context import RecipeContext

    if paper != PAPER or number not in NUMBERS:
        return False
    _save([(paper, draw_data(number, RecipeContext()))], folder)
    return True


def write_run_figure(paper: str, number: str, folder: Path, runs: Sequence[Path]) -> None:
    """Write a figure of a paper with the numbers of runs, the trainings of heads, or the stages of projects."""
    from tiltmeter.api import load_named_runs
    from tiltmeter.papers.figures.paper_figures import draw_runs
    from tiltmeter.papers.figures.thesis_figures import NUMBERS, PAPER, draw_project
    from tiltmeter.papers.figures.training_figures import TRAINING_FIGURES, draw_training
    from tiltmeter.runs.nested_runs import expand_run_folders

    if paper == PAPER and number in NUMBERS:
        _save([(f"{paper}-{run.resolve().name}", draw_project(number, run)) for run in runs], folder)
        return
    if paper in TRAINING_FIGURES:
        _save([(f"{paper}-{run.resolve().name}", draw_training(paper, number, run)) for run in runs], folder)
        return
    drawn = draw_runs(paper, number, load_named_runs(expand_run_folders(list(runs))))
    _save([(f"{paper}-figure-{number}-{benchmark}", figure) for benchmark, figure in drawn], folder)


def _save(figures: Iterable[tuple[str, "Figure"]], folder: Path) -> None:
    from tiltmeter.reports.figure_files import save_figures

    drawn = list(figures)
    for path in save_figures(drawn, folder):
        typer.echo(path)
    for _, figure in drawn:
        typer.echo(f"{figure.title}. {figure.caption}")
