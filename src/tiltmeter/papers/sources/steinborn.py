"""Steinborn et al. (2022): the words of its data; the rest by running the models, as no predictions were released."""

from dataclasses import dataclass

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.datasets.dataset_statistics import describe_items
from tiltmeter.measures.gest import AS_PUBLISHED
from tiltmeter.papers.printed_numbers import CellKey
from tiltmeter.papers.sources.recipe import Key, NotAvailable, Numbers, NumberSource
from tiltmeter.papers.sources.recipe_context import RecipeContext

REPOSITORY = "VSteinborn/s_jsd-multilingual-bias"
# Inferred from the paper's appendix: BERT is uncased, and the numbers of parameters identify the others (mBERT 178M is
# the cased one, RoBERTa 355M the large one, ALBERT 206M the xxlarge one).
MODELS = {
    "mBERT": "bert-base-multilingual-cased",
    "xlmR": "xlm-roberta-base",
    "BERT": "bert-base-uncased",
    "RoBERTa": "roberta-large",
    "ALBERT": "albert-xxlarge-v2",
}
_DATA = {
    "multilingual gender pairs": ("gender-pairs", ""),
    "crows-pairs": ("crows-pairs", ""),
    "crows-pairs perturbed": ("crows-pairs", "drop-final-character"),
}
_WORDS = ("words", "words per sentence")
_LACKING = "No predictions were released; --from-models runs the model."


def find_source(cell: CellKey, kind: str, *, from_models: bool) -> NumberSource:
    """The source of the number in a cell."""
    key: Key = (cell["metric"], kind)
    if cell["metric"] in _WORDS:
        return NumberSource(key, WordCounts(cell["language"]))
    if not from_models:
        return NumberSource(key, lacking=_LACKING)
    data, perturb = _DATA[cell["dataset"]]
    return NumberSource(key, PairsRun(MODELS[cell["model"]], f"{data}:{cell['language']}", perturb))


@dataclass(frozen=True, slots=True)
class WordCounts:
    """The words of the gender pairs in a language."""

    language: str

    @property
    def name(self) -> str:
        """The file of the pairs."""
        return f"data/cps_translated_{self.language}_formatted.csv"

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The words of all sentences, and their mean."""
        desk.fetch(REPOSITORY, self.name)
        (found,) = describe_items(load("gender-pairs", language=self.language))
        if found.words is None:
            raise NotAvailable(f"{found.note}.")
        total, mean = _WORDS
        return {(total, "value"): float(found.words.total), (mean, "value"): found.words.mean}


@dataclass(frozen=True, slots=True)
class PairsRun:
    """A run of a masked model on sentence pairs, perturbed if `perturb` is given."""

    hub: str
    on: str
    perturb: str

    @property
    def name(self) -> str:
        """The model and its benchmark."""
        return f"{self.hub} on {self.on}{' with ' if self.perturb else ''}{self.perturb}"

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The measures over all pairs, with their standard errors."""
        numbers: dict[Key, float] = {}
        for record in desk.run(desk.model(self.hub), self.on, perturb=self.perturb or None):
            if record.view == "all":
                # "CPS as published" comes after CPS and replaces it: the paper counts a tie against the stereotype.
                name = record.measure.removesuffix(f" {AS_PUBLISHED}")
                numbers[name, "value"] = record.value
                if record.standard_error is not None:
                    numbers[name, "standard error"] = record.standard_error
        return numbers
