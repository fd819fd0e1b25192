"""Öztürk (2022) and Öztürk et al. (2023): LMS, SS and ICAT, from their released predictions or from the models."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import cast

from tiltmeter.datasets.by_name import load
from tiltmeter.forms.association import AssociationItem
from tiltmeter.measures import association
from tiltmeter.measures.gest import AS_PUBLISHED
from tiltmeter.measures.records import Record
from tiltmeter.papers.printed import Place
from tiltmeter.papers.sources.desk import Desk
from tiltmeter.papers.sources.recipe import Key, Numbers, NumberSource
from tiltmeter.runs.imports import read_predictions

REPOSITORY = "slds-lmu/stereotypes-multi"
# Heads that the authors fine-tuned; they released what these predict, but not the heads.
FINE_TUNED = "ModelNSP"
UNRELEASED = "unreleased"

_VIEWS = {"global": "all", "per-target": "targets"}
_MEASURES = {"macro ICAT": "ICAT macro", "micro ICAT": "ICAT micro"}


@dataclass(frozen=True, slots=True)
class TableRow:
    """A model of a table: its name on the hub, how it was asked in both parts, and the language."""

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
        return prediction_file(self.hub, self.intrasentence, self.intersentence, self.case, self.language)


def prediction_file(hub: str, intrasentence: str, intersentence: str, case: str, language: str) -> str:
    """The name the released code gives a file of predictions: model, how both parts were asked, case, language.

    A part that was not asked leaves its place empty, so that two underscores meet.

    >>> prediction_file("gpt2", "", "GPT2LM", "orig", "en")
    'gpt2__GPT2LM_orig_en.json'
    >>> prediction_file("google/mt5-base", "mT5LM", "ModelNSP", "", "de")
    'google_mt5-base_mT5LM_ModelNSP_de.json'
    """
    parts = [hub.replace("/", "_"), intrasentence, intersentence, *([case] if case else []), language]
    return "_".join(parts) + ".json"


@cache
def rows() -> dict[tuple[str, str, str], TableRow]:
    """The models of the tables by paper, name and language; under no language too, where the name implies it."""
    text = files(__package__).joinpath("stereoset.csv").read_text(encoding="utf-8")
    found = [TableRow(**entry) for entry in csv.DictReader(StringIO(text))]
    return {(row.paper, row.model, language): row for row in found for language in (row.language, "")}


def find(paper: str, place: Place, *, from_models: bool) -> NumberSource:
    """What recomputes the number at a place.

    Beside what the tables name, `items` may name a language, to count only items that it has.
    """
    row = rows()[paper, place["model"], place.get("language", "")]
    metric = place["metric"]
    key: Key = (place["test"], _VIEWS[place["view"]], "all", _MEASURES.get(metric, metric))
    if from_models:
        if row.intersentence == FINE_TUNED and place["test"] != "intrasentence":
            return NumberSource(key, lacking="The next-sentence head that was fine-tuned for it has not been released.")
        part = "intrasentence" if row.intersentence == FINE_TUNED else ""
        return NumberSource(key, StereosetRun(row.hub, row.language, part, row.case))
    if row.intrasentence == UNRELEASED:
        return NumberSource(key, lacking="Its predictions have not been released; --from-models runs the model.")
    return NumberSource(key, ReleasedPredictions(row.file, row.language, place.get("items", "")))


@dataclass(frozen=True, slots=True)
class ReleasedPredictions:
    """A file of released predictions, perhaps counting only the items that another language has."""

    file: str
    language: str
    items_of: str = ""

    @property
    def name(self) -> str:
        """The file."""
        return self.file

    def numbers(self, desk: Desk) -> Numbers:
        """The measures of the predictions."""
        path = desk.fetch(REPOSITORY, f"results/predictions/{self.file}")
        scores = read_predictions(path, "stereotypes-multi", desk.once(_items, self.language)).scores
        if self.items_of:
            scores = scores[scores["item"].isin({item.id for item in desk.once(_items, self.items_of)})]
        return _numbers(association.measure(scores, intervals=False))


@dataclass(frozen=True, slots=True)
class StereosetRun:
    """A run of a model, as published."""

    hub: str
    language: str
    part: str
    case: str

    @property
    def name(self) -> str:
        """The model and what it is run on."""
        return f"{self.hub} on {self.on}"

    @property
    def on(self) -> str:
        """What it is run on."""
        return f"stereoset{'/' if self.part else ''}{self.part}:{self.language}"

    def numbers(self, desk: Desk) -> Numbers:
        """The measures of the run."""
        protocol = f"published/{self.case}" if self.case else "published"
        return _numbers(desk.run(self.hub, self.on, protocol=protocol))


def _numbers(records: Iterable[Record]) -> Numbers:
    numbers: dict[Key, float] = {}
    for record in records:
        # SS as published comes after SS, whose place it takes: the papers count a tie against the stereotype.
        name = record.measure.removesuffix(f" {AS_PUBLISHED}")
        numbers[record.part, record.view, record.group, name] = record.value
        if record.view == "all" and record.measure == "LMS":
            numbers[record.part, record.view, record.group, "count"] = float(record.n)
    return numbers


def _items(language: str) -> list[AssociationItem]:
    return cast(list[AssociationItem], load("stereoset", None, language))
