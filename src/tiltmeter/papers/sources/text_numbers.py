"""Recipes for numbers in running text and captions."""

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.datasets.upstream_files import load_repositories
from tiltmeter.papers.printed_numbers import CellKey
from tiltmeter.papers.sources import (
    gest_judgements,
    gest_pair_counts,
    gest_tables,
    gest_winobias,
    steinborn,
    stereoset_facts,
    table_facts,
    word_replies,
)
from tiltmeter.papers.sources.gest_scores import REPOSITORY
from tiltmeter.papers.sources.recipe import Numbers, NumberSource, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.papers.sources.stereoset_facts import FRAMES

_RELEASED = {
    "pairs of a system and a language": "data/translations/",
    "masked models": "data/predictions/english_mlm/",
    "generative models": "data/predictions/english_glm/",
    "multilingual models": "data/predictions/slavic_mlm/",
}
# The recipes of numbers that need neither the printed tables nor a data frame, by the name of the number.
_RECIPES = {
    **dict.fromkeys(
        ("sentences", "stereotypes", "sentences for stereotypes about men with words about family"),
        gest_tables.SENTENCE_COUNTS,
    ),
    gest_judgements.WRITTEN: gest_judgements.RATED_SENTENCES,
    gest_judgements.REMOVED: gest_judgements.RATED_SENTENCES,
    gest_judgements.OTHER_PERSON: gest_judgements.RATED_SENTENCES,
    gest_pair_counts.DISTINCT: gest_pair_counts.DISTINCT_PAIRS,
    gest_pair_counts.LEAST: gest_pair_counts.SCORED_PAIRS,
    gest_pair_counts.MOST: gest_pair_counts.SCORED_PAIRS,
    gest_winobias.CORRELATION: gest_winobias.PRINTED,
    gest_winobias.P_VALUE: gest_winobias.RELEASED,
}


def find_source(key: str, cell: CellKey, *, from_models: bool) -> NumberSource:
    """Return the source (recipe and key) of a number in the text of a paper."""
    metric = cell["metric"]
    if cell["of"]:
        return NumberSource((metric,), stereoset_facts.build_recipe(*FRAMES[cell["of"]]))
    if key == "steinborn2022":
        if metric == "pairs":
            path = steinborn.get_pairs_path(cell["language"])
            return NumberSource((metric,), Recipe(path, count_pairs, (cell["language"],)))
        if cell["model"]:
            about = {**cell, "dataset": "multilingual gender pairs"}
            return steinborn.find_source(about, "value", from_models=from_models)
    if key == "bai2025":
        return NumberSource((metric,), word_replies.COUNTS)
    if metric in _RELEASED:
        return NumberSource((metric,), Recipe(f"the files of {REPOSITORY}", count_released_files))
    return NumberSource((metric,), _RECIPES.get(metric) or table_facts.build_recipe(key))


def count_pairs(context: RecipeContext, language: str) -> Numbers:
    """Return the number of gender pairs in a language."""
    context.fetch_file(steinborn.REPOSITORY, steinborn.get_pairs_path(language))
    return {("pairs",): float(len(load("gender-pairs", language=language)))}


def count_released_files(context: RecipeContext) -> Numbers:  # noqa: ARG001 - as all recipes
    """Return how many models and how many translations GEST's repository contains."""
    paths = list(load_repositories()[REPOSITORY].files)
    return {
        (metric,): float(len({p.partition("_template-")[0] for p in paths if p.startswith(folder)}))
        for metric, folder in _RELEASED.items()
    }
