"""The figures of the thesis of Öztürk (2022) about its data: bias types, and the stages of the German edition."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.datasets.dataset_statistics import describe_items
from tiltmeter.datasets.file_fetcher import UnavailableFileError
from tiltmeter.errors import UsageError
from tiltmeter.making.project import open_project
from tiltmeter.making.project_status import StageCounts, compute_status
from tiltmeter.making.repair.target_terms import RULE
from tiltmeter.making.stage_figure import plot_stages
from tiltmeter.papers.sources.recipe import NotAvailable
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.papers.sources.stereoset_facts import FRAMES, count_missing_targets
from tiltmeter.reports.figures.data_figure import build_data_figure
from tiltmeter.reports.figures.figure import Figure

PAPER = "oeztuerk2022"
_BIAS_TYPES = "3.1"
# What each figure about the stages of a translated data set shows.
STAGES = {
    "3.2": "before the repair",
    "3.3": "before the search for the closest word",
    "3.4": "after the search for the closest word",
    "3.5": "after all repairs",
}
# The released editions of the German data: before the repair, and after it.
_EDITIONS = {"3.2": ", before repair", "3.5": ""}
NUMBERS = (_BIAS_TYPES, *STAGES)


def draw_data(number: str, context: RecipeContext) -> Figure:
    """Return a figure of the thesis from released files; raise UsageError if no file of its stage was released."""
    if number == _BIAS_TYPES:
        figure = build_data_figure("StereoSet", describe_items(load("stereoset", language="en")))
        bias_types = tuple(panel for panel in figure.panels if panel.title == "bias type")
        return replace(
            _entitle(figure, number, "bias types", "Number of items in StereoSet by part."), panels=bias_types
        )
    if number not in _EDITIONS:
        raise UsageError(
            f"The data of Figure {number} of {PAPER}, {STAGES[number]}, were not released; draw the figure of a "
            "project of your own with --runs PROJECT."
        )
    counts: dict[tuple[str, str, str], int] = {}
    for part in ("intrasentence", "intersentence"):
        try:
            found = count_missing_targets(context, *FRAMES[f"German {part}{_EDITIONS[number]}"])
        except (NotAvailable, UnavailableFileError) as reason:
            raise UsageError(f"Figure {number} of {PAPER} needs a released file. {reason}") from reason
        counts |= {(part, RULE, target): items for target, items in found.items()}
    stage = StageCounts(STAGES[number], counts)
    return _draw_stage(number, stage, "the German edition of StereoSet, from released files")


def draw_project(number: str, folder: Path) -> Figure:
    """Return a figure of the thesis with a stage of a project."""
    if number not in STAGES:
        raise UsageError(f"Figure {number} of {PAPER} cannot be drawn from a project; leave out --runs.")
    with open_project(folder) as project:
        stages = compute_status(project).stages
    stage = _find_stage(number, stages)
    if stage is None:
        raise UsageError(
            f"{folder} has no stage for Figure {number} of {PAPER}, {STAGES[number]}; run `tiltmeter make translate` "
            "and `tiltmeter make repair` first."
        )
    source = f"{folder.resolve().name}, {stage.name!r}, where proposals count as open"
    return _draw_stage(number, stage, source)


def _find_stage(number: str, stages: Sequence[StageCounts]) -> StageCounts | None:
    """Return the stage of a project that a figure shows; None if the project has not reached it.

    The closest words are proposals, which count as open until somebody decides on them. Figure 3.4 thus shows the
    review that follows the repair step `target`, if another step came after this review.
    """
    names = [stage.name for stage in stages]
    target = next((at for at, stage in enumerate(stages) if stage.is_detail and stage.name.endswith(": target")), None)
    if number == "3.2":
        first = next((at for at, stage in enumerate(stages) if stage.is_detail), len(stages))
        return next((stage for stage in reversed(stages[:first]) if stage.name.startswith("after translate")), None)
    if number == "3.5":
        return stages[-1] if any(stage.is_detail for stage in stages) else None
    if target is None:
        return None
    if number == "3.3":
        return stages[target - 1]
    reviewed = (at for at in range(target, len(stages)) if names[at].startswith("after review"))
    return stages[next(reviewed, target)]


def _draw_stage(number: str, stage: StageCounts, source: str) -> Figure:
    figure = plot_stages([stage], RULE, max_subjects=None)
    totals = ", ".join(
        f"{part or 'All items'}: {stage.count_open_items(part, RULE):,}"
        for part in sorted({part for part, reason, _ in stage.counts if reason == RULE}, reverse=True)
    )
    caption = f"Items whose context lacks the target term, in {source}. {totals}."
    shown = _entitle(figure, number, f"problematic items by target term, {STAGES[number]}", caption)
    # As in the thesis, the part within sentences is first.
    return replace(shown, panels=tuple(reversed(shown.panels)), wide=False)


def _entitle(figure: Figure, number: str, title: str, caption: str) -> Figure:
    return replace(figure, slug=f"figure-{number}", title=f"Figure {number}: {title}", caption=caption)
