"""Recipes for Steinborn et al. (2022): word counts are computed from the data, other numbers by running the models.

No predictions were released.
"""

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.datasets.dataset_statistics import describe_items
from tiltmeter.measures.gest import AS_PUBLISHED
from tiltmeter.papers.printed_numbers import CellKey
from tiltmeter.papers.sources.paper_run import PaperRun
from tiltmeter.papers.sources.recipe import Key, NotAvailable, Numbers, NumberSource, Recipe, build_run_recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext

REPOSITORY = "VSteinborn/s_jsd-multilingual-bias"
# The hub ids are inferred from the paper's appendix. BERT is uncased. The numbers of parameters identify the other
# models: mBERT with 178M is cased, RoBERTa with 355M is large, ALBERT with 206M is xxlarge.
MODELS = {
    "mBERT": "bert-base-multilingual-cased",
    "xlmR": "xlm-roberta-base",
    "xlmR (large)": "xlm-roberta-large",
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
_PARAMETERS = "parameters in millions"
# The languages in which the paper compares models; the other models are English.
_LANGUAGES = ("de", "en", "fi", "id", "th")
_MULTILINGUAL = ("mBERT", "xlmR", "xlmR (large)")
_LACKING = "No predictions were released; use --from-models to run the model."


def find_source(cell: CellKey, kind: str, *, from_models: bool) -> NumberSource:
    """Return the source (recipe and key) of the number in a table cell."""
    key: Key = (cell["metric"], kind)
    if cell["metric"] in _WORDS:
        return NumberSource(key, Recipe(get_pairs_path(cell["language"]), count_words, (cell["language"],)))
    if not from_models:
        return NumberSource(key, lacking=_LACKING)
    data, perturb = _DATA[cell["dataset"]]
    if cell["metric"] == _PARAMETERS:
        languages = _LANGUAGES if cell["model"] in _MULTILINGUAL else ("en",)
        runs = tuple(PaperRun(MODELS[cell["model"]], f"{data}:{language}") for language in languages)
        return NumberSource(key, Recipe(f"{runs[0].model} on {data}", count_parameters, runs, runs))
    run = PaperRun(MODELS[cell["model"]], f"{data}:{cell['language']}", perturb=perturb)
    return NumberSource(key, build_run_recipe(run, measure_run))


def get_pairs_path(language: str) -> str:
    """Return the path, in the paper's repository, of the gender pairs in a language."""
    return f"data/cps_translated_{language}_formatted.csv"


def count_words(context: RecipeContext, language: str) -> Numbers:
    """Return the number of words of the gender pairs in a language, and the mean number of words per sentence."""
    context.fetch_file(REPOSITORY, get_pairs_path(language))
    (statistics,) = describe_items(load("gender-pairs", language=language))
    if statistics.words is None:
        raise NotAvailable(f"{statistics.note}.")
    total, mean = _WORDS
    return {(total, "value"): float(statistics.words.total), (mean, "value"): statistics.words.mean}


def count_parameters(context: RecipeContext, *runs: PaperRun) -> Numbers:
    """Return the number of parameters of a model, in millions, from one of its runs."""
    parameters = context.load_manifest(runs[0]).models[0].parameters
    if parameters is None:
        raise NotAvailable(f"{runs[0].name} does not state the number of parameters.")
    return {(_PARAMETERS, "value"): parameters / 1e6}


def measure_run(context: RecipeContext, run: PaperRun) -> Numbers:
    """Return the measures of a run on sentence pairs, over all pairs, with their standard errors."""
    numbers: dict[Key, float] = {}
    for record in context.load_records(run):
        if record.view == "all":
            # "CPS as published" comes after CPS and replaces it: the paper counts a tie against the stereotype.
            name = record.measure.removesuffix(f" {AS_PUBLISHED}")
            numbers[name, "value"] = record.value
            if record.standard_error is not None:
                numbers[name, "standard error"] = record.standard_error
    return numbers
