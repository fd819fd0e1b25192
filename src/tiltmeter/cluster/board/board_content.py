"""The content of a board: models, columns, runs and notes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.cluster.board.board_runs import BoardRun, BrokenRun, find_runs
from tiltmeter.cluster.board.columns import BoardCell, BoardColumn, build_columns
from tiltmeter.cluster.board.ranking import rank_columns
from tiltmeter.cluster.board.view_models import ModelView, SectionView, build_section_views, build_slug
from tiltmeter.comparing.attributes import DescribedModel, ModelAttributes, find_run_attributes
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.reports.display_text import format_label
from tiltmeter.runs.file_digests import describe_changed_files
from tiltmeter.runs.fixed_factors import describe_fixed_factors
from tiltmeter.runs.manifest import ModelEntry, build_model_entry

# The family of a model is the value of the first of these attributes that the model has.
_FAMILY = ("family", "model type")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class BoardModel:
    """A model of the board; `card` is the address of its model card, or empty if the model is not on the hub."""

    view: ModelView
    described: DescribedModel
    entry: ModelEntry
    card: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """The content of a board; `broken` are the runs that cannot be read, and `notes` are sentences for the reader."""

    models: Sequence[BoardModel]
    columns: Sequence[BoardColumn]
    sections: Sequence[SectionView]
    runs: Sequence[BoardRun]
    broken: Sequence[BrokenRun]
    notes: Sequence[str]


def make_board(folders: Sequence[Path | str], *, reference: str = "", attributes: Path | None = None) -> Board:
    """Build the board for all runs in these folders and their subfolders.

    `reference` is the model that all other models are tested against. `attributes` is a file with attributes of models;
    the default is the file `plan.toml` in the folder of the runs or in a folder above.
    """
    runs, broken = find_runs(folders)
    given = find_run_attributes((run.folder for run in runs), attributes)
    columns, notes = build_columns(runs)
    keys = list(dict.fromkeys(cell.model for column in columns for cell in column.cells))
    if not keys:
        raise UsageError("The runs contain no measure of bias, so a board would be empty; choose other runs.")
    columns, unread = rank_columns(columns, _find_reference(reference, columns, keys))
    models = _build_models(columns, keys, given)
    if attributes is not None:
        measured = {cell.record.model for column in columns for cell in column.cells}
        notes += [
            f"{attributes.name} describes {name}, but no run measured this model."
            for name in given.list_unmeasured_models(measured)
        ]
    notes += [sentence for run in runs for sentence in describe_changed_files(run.changed, run.name)]
    notes += [
        f"{run.name}: {limited} Ranks always account for it."
        for run in runs
        if (limited := describe_fixed_factors(run.manifest.statistics.fixed))
    ]
    numbers = {model.view.name: model.view.number for model in models}
    return Board(models, columns, build_section_views(columns, numbers), runs, broken, [*notes, *unread])


def _find_reference(name: str, columns: Sequence[BoardColumn], keys: Sequence[str]) -> str:
    """Return the name of the reference model on the board; `name` is its name on the board or in its run files."""
    if not name or name in keys:
        return name
    for column in columns:
        for cell in column.cells:
            if cell.record.model == name:
                return cell.model
    raise UsageError(f"There is no model {name!r} in the runs{suggest_name(name, keys)}.")


def _build_models(columns: Sequence[BoardColumn], keys: Sequence[str], given: ModelAttributes) -> list[BoardModel]:
    """Build the models of the board, sorted by name; the facts about a model come from its newest run."""
    newest: dict[str, BoardCell] = {}
    for column in columns:
        for cell in column.cells:
            if cell.model not in newest or cell.run.finished > newest[cell.model].run.finished:
                newest[cell.model] = cell
    models = []
    for number, key in enumerate(sorted(keys, key=lambda key: (key.casefold(), key))):
        cell = newest[key]
        entry = cell.run.manifest.find_model(cell.record.model) or build_model_entry({"name": cell.record.model})
        described = given.describe_model(cell.record.model, entry)
        texts = described.get_attribute_texts()
        family = next((texts[name] for name in _FAMILY if texts.get(name)), "")
        view = ModelView(number, key, f"models/{build_slug(key)}.html", format_label(family))
        models.append(BoardModel(view, described, entry, build_card_url(cell.record.model, entry.revision)))
    return models


def build_card_url(name: str, revision: str | None) -> str:
    """Return the address of a model's card on the hub; empty for models that are not a repository on the hub.

    >>> build_card_url("org/model@main", "0" * 40), build_card_url("models/mine", None)
    ('https://huggingface.co/org/model', '')
    """
    hub_id = name.partition("@")[0]
    at_commit = revision is not None and _COMMIT.fullmatch(revision)
    return f"https://huggingface.co/{hub_id}" if at_commit and _HUB_ID.fullmatch(hub_id) else ""
