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


def write_run_figure(paper: str, number: str, folder: Path, runs: Sequence[Path]) -> None:
    """Write a figure of a paper with the numbers of runs, or with the trainings of heads."""
    from tiltmeter.api import load_named_runs
    from tiltmeter.papers.figures.paper_figures import draw_runs
    from tiltmeter.papers.figures.training_figures import TRAINING_FIGURES, draw_training
    from tiltmeter.runs.nested_runs import expand_run_folders

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
