"""The plan of the runs that printed numbers need, as a matrix of runs, and the folders of the finished runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiltmeter.cluster.matrix import MatrixResult
from tiltmeter.cluster.plan_cells import (
    RULES,
    ModelCells,
    PlannedCell,
    RunMatrix,
    build_cell_folder,
    build_safe_name,
    get_folder_name,
)
from tiltmeter.cluster.plan_file import PlannedModel
from tiltmeter.datasets import parse_spec
from tiltmeter.papers.model_runs.run_choices import RunChoices
from tiltmeter.papers.printed_numbers import PrintedNumber
from tiltmeter.papers.sources.oeztuerk import list_head_languages
from tiltmeter.papers.sources.paper_run import PaperRun, SavedRun
from tiltmeter.papers.sources.source_lookup import find_source


@dataclass(frozen=True)
class RunPlan:
    """The runs that printed numbers need.

    `cells` has the cell (run) of the matrix for each run, and `missing` the reason for each run that is not possible.
    """

    matrix: RunMatrix
    cells: Mapping[PaperRun, tuple[ModelCells, PlannedCell]]
    missing: Mapping[PaperRun, str]
    choices: RunChoices = field(default_factory=RunChoices)

    def collect_runs(self, result: MatrixResult | None = None) -> dict[PaperRun, SavedRun]:
        """Return the folder of each finished run, and the reason for each other run.

        `result` is the result of running the matrix; it contains the reasons for failures.
        """
        runs = {run: SavedRun(problem=reason) for run, reason in self.missing.items()}
        failed = result.failed if result else {}
        for run, (entry, cell) in self.cells.items():
            if entry.is_finished(cell):
                runs[run] = SavedRun(entry.folder / cell.folder, tuple(self.choices.list_differences(run)))
            else:
                reason = failed.get((entry.label, cell.folder), "it is not finished.")
                runs[run] = SavedRun(problem=f"{run.name}: {reason}")
        return runs


def plan_runs(numbers: Iterable[PrintedNumber], choices: RunChoices, out: Path) -> RunPlan:
    """Return the plan of all runs that the numbers need; `out` is the folder of the runs. Nothing is opened."""
    recipes = (find_source(number, from_models=True).recipe for number in numbers)
    runs = dict.fromkeys(run for recipe in recipes if recipe is not None for run in recipe.runs)
    missing = {run: reason for run in runs if (reason := _find_obstacle(run, choices))}
    models: dict[str, PlannedModel] = {}
    planned: dict[str, dict[PaperRun, PlannedCell]] = {}
    for run in runs:
        if run not in missing:
            model = _build_model(run, choices, out)
            folder = get_folder_name(model)
            models.setdefault(folder, model)
            planned.setdefault(folder, {})[run] = _build_cell(run, choices.limit)
    entries = {
        folder: ModelCells(models[folder], tuple(dict.fromkeys(cells.values())), out / folder)
        for folder, cells in planned.items()
    }
    cells = {run: (entries[folder], cell) for folder, chosen in planned.items() for run, cell in chosen.items()}
    return RunPlan(RunMatrix(None, out, tuple(entries.values())), cells, missing, choices)


def _find_obstacle(run: PaperRun, choices: RunChoices) -> str:
    """Return the reason why a run is not possible; empty if it is possible."""
    if not run.head or run.model in choices.head_paths:
        return ""
    languages = list_head_languages(run.model)
    lacking = [language for language in languages if language not in choices.articles]
    if not lacking:
        return ""
    return (
        f"The next-sentence head of {run.model} is missing. Convert the authors' file with `tiltmeter train convert` "
        f"and pass it with --head-path {run.model}=FOLDER, or train a head from articles with "
        f"{' '.join(f'--articles {language}=SOURCE' for language in lacking)}."
    )


def _plan_training(run: PaperRun, choices: RunChoices, out: Path) -> dict[str, Any] | None:
    """Return how to train the head of a run, as `PlannedModel.training`; None if the run needs no training."""
    if not run.head or run.model in choices.head_paths:
        return None
    languages = list_head_languages(run.model)
    training = {
        "base": choices.model_paths.get(run.model, run.model),
        "articles": [f"{language}={choices.articles[language]}" for language in languages],
        "pairs": str(out.resolve() / "pairs" / "-".join(languages)),
        "out": str(out.resolve() / "heads" / build_safe_name(run.model)),
    }
    tokenizer = choices.get_tokenizer(run.model)
    return training | ({"tokenizer": tokenizer} if tokenizer else {})


def _build_model(run: PaperRun, choices: RunChoices, out: Path) -> PlannedModel:
    devices = [device for device in choices.devices if device != "cpu"]
    gpus = len(devices) if choices.devices else 0 if choices.device == "cpu" else None
    translation = {"edition": run.edition, **({"yes": True} if choices.yes else {})} if run.is_translator else None
    training = _plan_training(run, choices, out)
    name = choices.get_model_name(run, training["out"] if training else "")
    options = choices.build_options(run)
    return PlannedModel(name=name, options=options, translation=translation, training=training, gpus=gpus)


def _build_cell(run: PaperRun, limit: int | None) -> PlannedCell:
    spec = parse_spec(run.on)
    benchmark = spec.name if spec.part is None else f"{spec.name}/{spec.part}"
    protocol = RULES if run.is_translator else run.protocol
    folder = build_cell_folder(benchmark, ",".join(spec.languages), protocol, run.perturb)
    return PlannedCell(run.on, protocol, limit, folder, run.perturb or None)
