"""Recipes for Öztürk (2022) and Öztürk et al. (2023): LMS, SS and ICAT, from released predictions or from models."""

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
from tiltmeter.papers.sources.paper_run import PaperRun
from tiltmeter.papers.sources.recipe import Key, Numbers, NumberSource, Recipe, build_run_recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.runs.prediction_files import read_predictions

REPOSITORY = "slds-lmu/stereotypes-multi"
# The method with next-sentence heads that the authors fine-tuned. Their repository links the heads, but not pinned.
FINE_TUNED = "ModelNSP"
UNRELEASED = "unreleased"

_VIEWS = {"global": "all", "per-target": "targets"}
_MEASURES = {"macro ICAT": "ICAT macro", "micro ICAT": "ICAT micro"}


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: the model's hub id, the method used in each part, the scoring case, and the language."""

    paper: str
    model: str
    language: str
    hub: str
    intrasentence: str
    intersentence: str
    case: str

    @property
    def file(self) -> str:
        """The name of the file of predictions.

        >>> TableRow("", "", "de", "THUMT/mGPT", "", "GPT2LM", "e").file
        'THUMT_mGPT__GPT2LM_e_de.json'
        """
        return build_prediction_name(self.hub, self.intrasentence, self.intersentence, self.case, self.language)


def build_prediction_name(hub: str, intrasentence: str, intersentence: str, case: str, language: str) -> str:
    """Return the name of a released file of predictions: model, method of each part, scoring case and language.

    The method of a part that was not run is an empty string, so the name contains two underscores in a row.

    >>> build_prediction_name("gpt2", "", "GPT2LM", "orig", "en")
    'gpt2__GPT2LM_orig_en.json'
    >>> build_prediction_name("google/mt5-base", "mT5LM", "ModelNSP", "", "de")
    'google_mt5-base_mT5LM_ModelNSP_de.json'
    """
    parts = [hub.replace("/", "_"), intrasentence, intersentence, *([case] if case else []), language]
    return "_".join(parts) + ".json"


@cache
def load_rows() -> dict[tuple[str, str, str], TableRow]:
    """Return a mapping from (paper, model, language) to the table row; the language in the key may be empty."""
    text = files(__package__).joinpath("stereoset.csv").read_text(encoding="utf-8")
    table_rows = [TableRow(**entry) for entry in csv.DictReader(StringIO(text))]
    return {(row.paper, row.model, language): row for row in table_rows for language in (row.language, "")}


def list_head_languages(hub: str) -> list[str]:
    """Return the languages for which a model was measured with a fine-tuned next-sentence head.

    >>> list_head_languages("THUMT/mGPT"), list_head_languages("t5-base")
    (['en', 'de'], ['en'])
    """
    rows = (row for row in load_rows().values() if row.hub == hub and row.intersentence == FINE_TUNED)
    return list(dict.fromkeys(row.language for row in rows))


def find_source(paper: str, cell: CellKey, *, from_models: bool) -> NumberSource:
    """Return the source (recipe and key) of the number in a table cell.

    If the cell has a language in `items`, only the items that exist in that language are used.
    """
    row = load_rows()[paper, cell["model"], cell.get("language", "")]
    metric = cell["metric"]
    key: Key = (cell["test"], _VIEWS[cell["view"]], "all", _MEASURES.get(metric, metric))
    if from_models:
        if row.intersentence == FINE_TUNED and cell["test"] != "intrasentence":
            part = "intersentence" if cell["test"] == "intersentence" else ""
            return NumberSource(key, _build_run_recipe(row, part, "", head=True))
        part = "intrasentence" if row.intersentence == FINE_TUNED else ""
        return NumberSource(key, _build_run_recipe(row, part, row.case))
    if row.intrasentence == UNRELEASED:
        return NumberSource(key, lacking="The predictions were not released; use --from-models to run the model.")
    return NumberSource(key, Recipe(row.file, measure_predictions, (row.file, row.language, cell.get("items", ""))))


def measure_predictions(context: RecipeContext, file: str, language: str, items_of: str) -> Numbers:
    """Return the measures of a file of predictions; only items that exist in the language `items_of` are used.

    All items are used if `items_of` is empty.
    """
    path = context.fetch_file(REPOSITORY, f"results/predictions/{file}")
    scores = read_predictions(path, "stereotypes-multi", context.compute_once(_load_items, language)).scores
    if items_of:
        scores = scores[scores["item"].isin({item.id for item in context.compute_once(_load_items, items_of)})]
    return collect_numbers(association.measure(scores, intervals=False))


def _build_run_recipe(row: TableRow, part: str, case: str, *, head: bool = False) -> Recipe:
    """Return the recipe for a run with the published protocol; if `head`, the run uses the next-sentence head."""
    on = f"stereoset{'/' if part else ''}{part}:{row.language}"
    run = PaperRun(row.hub, on, f"published/{case}" if case else "published", head=head)
    return build_run_recipe(run, measure_run)


def measure_run(context: RecipeContext, run: PaperRun) -> Numbers:
    """Return the measures of a run."""
    return collect_numbers(context.load_records(run))


def collect_numbers(records: Iterable[Record]) -> Numbers:
    """Return a mapping from (part, view, group, measure) to value; "SS" is the measure "SS as published"."""
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
