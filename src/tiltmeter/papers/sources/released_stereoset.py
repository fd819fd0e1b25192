"""Recipes for LMS, SS and ICAT of StereoSet (Nadeem et al. 2021) and of its Brazilian edition, from released files.

Both repositories print means over target terms, and compute ICAT from the mean LMS and the mean SS. The ids of
candidates link the predictions to roles and targets. Candidates have the same ids in both editions, so the data file of
the Brazilian edition is used for both.
"""

from typing import cast

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.forms.association import AssociationItem
from tiltmeter.measures import association
from tiltmeter.papers.printed_numbers import CellKey
from tiltmeter.papers.sources.oeztuerk import collect_numbers
from tiltmeter.papers.sources.recipe import Key, Numbers, NumberSource, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.runs.prediction_files import read_predictions

REPOSITORIES = {"nadeem2021": "moinnadeem/StereoSet", "stereoset-ptbr": "firminovitoria/stereoset-ptbr"}
NADEEM = {
    "bert-base-cased": "bert-base-cased_BertNextSentence_BertLM",
    "bert-large-cased": "bert-large-cased_BertNextSentence_BertLM",
    "roberta-base": "roberta-base_ModelNSP_RoBERTaLM",
    "roberta-large": "roberta-large_ModelNSP_RoBERTaLM",
    "xlnet-base-cased": "xlnet-base-cased_ModelNSP_XLNetLM",
    "xlnet-large-cased": "xlnet-large-cased_ModelNSP_XLNetLM",
    "gpt2": "gpt2_ModelNSP_GPT2LM",
    "gpt2-medium": "gpt2-medium_ModelNSP_GPT2LM",
    "gpt2-large": "gpt2-large_ModelNSP_GPT2LM",
    "ensemble": "EnsembleModel_",
    "sentiment": "SentimentModel",
}


def get_prediction_path(paper: str, model: str) -> str:
    """Return the path of a model's predictions in the repository of a paper.

    >>> get_prediction_path("nadeem2021", "gpt2"), get_prediction_path("stereoset-ptbr", "tucano_1b1")
    ('code/predictions/predictions_gpt2_ModelNSP_GPT2LM.json', 'predictions/predictions_tucano_1b1.json')
    """
    if paper == "nadeem2021":
        return f"code/predictions/predictions_{NADEEM[model]}.json"
    return f"predictions/predictions_{model}.json"


def find_source(paper: str, cell: CellKey, *, from_models: bool) -> NumberSource:
    """Return the source (recipe and key) of the number in a table cell."""
    metric = "ICAT micro" if cell["metric"] == "ICAT" else cell["metric"]
    key: Key = (cell["test"], "targets", cell["bias_type"], metric)
    if from_models:
        return NumberSource(key, lacking="The number is recomputed only from released predictions; omit --from-models.")
    path = get_prediction_path(paper, cell["model"])
    return NumberSource(key, Recipe(path, measure_predictions, (REPOSITORIES[paper], path)))


def measure_predictions(context: RecipeContext, repository: str, path: str) -> Numbers:
    """Return the measures of a released file of predictions."""
    file = context.fetch_file(repository, path)
    items = context.compute_once(_load_items)
    scores = read_predictions(file, "stereotypes-multi", items, benchmark="stereoset-ptbr").scores
    return collect_numbers(association.measure(scores, intervals=False))


def _load_items() -> list[AssociationItem]:
    return cast(list[AssociationItem], load("stereoset-ptbr", None, "pt-BR"))
