"""Öztürk (2022) and Öztürk et al. (2023): LMS, SS and ICAT, from their released predictions or from the models."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import cast

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.forms.association import AssociationItem
from tiltmeter.measures import association
from tiltmeter.measures.gest import AS_PUBLISHED
from tiltmeter.measures.records import Record
from tiltmeter.papers.printed_numbers import CellKey
from tiltmeter.papers.sources.recipe import Key, Numbers, NumberSource
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.runs.prediction_files import read_predictions

REPOSITORY = "slds-lmu/stereotypes-multi"
# Next-sentence heads that the authors fine-tuned; their predictions were released, the heads were not.
FINE_TUNED = "ModelNSP"
UNRELEASED = "unreleased"

_VIEWS = {"global": "all", "per-target": "targets"}
_MEASURES = {"macro ICAT": "ICAT macro", "micro ICAT": "ICAT micro"}


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: the model's hub id, the method used in each part, the case, and the language."""

    paper: str
    model: str
    language: str
    hub: str
    intrasentence: str
    intersentence: str
    case: str

    @property
    def file(self) -> str:
        """The name of the file with its predictions.

        >>> TableRow("", "", "de", "THUMT/mGPT", "", "GPT2LM", "e").file
        'THUMT_mGPT__GPT2LM_e_de.json'
        """
        return build_prediction_name(self.hub, self.intrasentence, self.intersentence, self.case, self.language)


def build_prediction_name(hub: str, intrasentence: str, intersentence: str, case: str, language: str) -> str:
    """The name of a file of predictions in the released code: model, method of each part, case, language.

    The method of a part that was not run is empty, which leaves two underscores in a row.

    >>> build_prediction_name("gpt2", "", "GPT2LM", "orig", "en")
    'gpt2__GPT2LM_orig_en.json'
    >>> build_prediction_name("google/mt5-base", "mT5LM", "ModelNSP", "", "de")
    'google_mt5-base_mT5LM_ModelNSP_de.json'
    """
    parts = [hub.replace("/", "_"), intrasentence, intersentence, *([case] if case else []), language]
    return "_".join(parts) + ".json"


@cache
def load_rows() -> dict[tuple[str, str, str], TableRow]:
    """The rows of the tables by paper, model and language, and by an empty language for the thesis."""
    text = files(__package__).joinpath("stereoset.csv").read_text(encoding="utf-8")
    table_rows = [TableRow(**entry) for entry in csv.DictReader(StringIO(text))]
    return {(row.paper, row.model, language): row for row in table_rows for language in (row.language, "")}


def find_source(paper: str, cell: CellKey, *, from_models: bool) -> NumberSource:
    """The source of the number in a cell.

    `items` in the cell is a language, to use only the items that exist in it.
    """
    row = load_rows()[paper, cell["model"], cell.get("language", "")]
    metric = cell["metric"]
    key: Key = (cell["test"], _VIEWS[cell["view"]], "all", _MEASURES.get(metric, metric))
    if from_models:
        if row.intersentence == FINE_TUNED and cell["test"] != "intrasentence":
            part = "intersentence" if cell["test"] == "intersentence" else ""
            return NumberSource(key, StereosetRun(row.hub, row.language, part, "", head=True))
        part = "intrasentence" if row.intersentence == FINE_TUNED else ""
        return NumberSource(key, StereosetRun(row.hub, row.language, part, row.case))
    if row.intrasentence == UNRELEASED:
        return NumberSource(key, lacking="Its predictions have not been released; --from-models runs the model.")
    return NumberSource(key, ReleasedPredictions(row.file, row.language, cell.get("items", "")))


@dataclass(frozen=True, slots=True)
class ReleasedPredictions:
    """A file of released predictions; with `items_of`, only the items that exist in that language."""

    file: str
    language: str
    items_of: str = ""

    @property
    def name(self) -> str:
        """The file."""
        return self.file

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The measures of the predictions."""
        path = desk.fetch(REPOSITORY, f"results/predictions/{self.file}")
        scores = read_predictions(path, "stereotypes-multi", desk.compute_once(_load_items, self.language)).scores
        if self.items_of:
            scores = scores[scores["item"].isin({item.id for item in desk.compute_once(_load_items, self.items_of)})]
        return collect_numbers(association.measure(scores, intervals=False))


@dataclass(frozen=True, slots=True)
class StereosetRun:
    """A run of a model by the published protocol; with `head`, of the next-sentence head that was fine-tuned for it."""

    hub: str
    language: str
    part: str
    case: str
    head: bool = False

    @property
    def name(self) -> str:
        """The model and its benchmark."""
        return f"{self.hub} on {self.on}"

    @property
    def on(self) -> str:
        """The benchmark with part and language."""
        return f"stereoset{'/' if self.part else ''}{self.part}:{self.language}"

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The measures of the run."""
        protocol = f"published/{self.case}" if self.case else "published"
        model = desk.head(self.hub) if self.head else desk.model(self.hub)
        return collect_numbers(desk.run(model, self.on, protocol=protocol))


def collect_numbers(records: Iterable[Record]) -> Numbers:
    """The values of records by part, view, group and measure, with SS as the papers count it."""
    numbers: dict[Key, float] = {}
    for record in records:
        # "SS as published" comes after SS and replaces it: the papers count a tie against the stereotype.
        name = record.measure.removesuffix(f" {AS_PUBLISHED}")
        numbers[record.part, record.view, record.group, name] = record.value
        if record.view == "all" and record.measure == "LMS":
            numbers[record.part, record.view, record.group, "count"] = float(record.n)
    return numbers


def _load_items(language: str) -> list[AssociationItem]:
    return cast(list[AssociationItem], load("stereoset", None, language))
