"""Recipes for numbers in running text and captions."""

import csv
import math
from io import StringIO
from statistics import correlation, fmean

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.datasets.upstream_files import load_repositories
from tiltmeter.papers.printed_numbers import CellKey, find_paper, read_printed_numbers
from tiltmeter.papers.sources import gest_tables, steinborn, stereoset_facts, table_facts
from tiltmeter.papers.sources.gest_scores import REPOSITORY
from tiltmeter.papers.sources.recipe import Numbers, NumberSource, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.papers.sources.stereoset_facts import FRAMES
from tiltmeter.papers.sources.table_facts import collect_rates, compute_stereotype_rate

_WINOBIAS = "data/predictions/winobias/winobias.csv"
_WITH_WINOBIAS = "correlation of g_s with WinoBias"
_RELEASED = {
    "pairs of a system and a language": "data/translations/",
    "masked models": "data/predictions/english_mlm/",
    "generative models": "data/predictions/english_glm/",
    "multilingual models": "data/predictions/slavic_mlm/",
}
_SENTENCES = ("sentences", "stereotypes", "sentences for stereotypes about men with words about family")


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
    if metric in _RELEASED:
        return NumberSource((metric,), Recipe(f"the files of {REPOSITORY}", count_released_files))
    if metric in _SENTENCES:
        return NumberSource((metric,), gest_tables.SENTENCE_COUNTS)
    if metric == _WITH_WINOBIAS:
        return NumberSource((metric,), Recipe(f"{_WINOBIAS} and Table 9 as printed", correlate_with_winobias))
    return NumberSource((metric,), table_facts.build_recipe(key))


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


def correlate_with_winobias(context: RecipeContext) -> Numbers:
    """Return the correlation over masked models of g_s in Table 9 with g_s from the released WinoBias scores."""
    path = context.fetch_file(REPOSITORY, _WINOBIAS)
    on_winobias = {
        row["model_name"]: math.exp(float(row["logprob_male_professions"]) - float(row["logprob_female_professions"]))
        for row in csv.DictReader(StringIO(read_text(path)))
        if (row["dataset_type"], row["dataset_split"]) == ("1", "test")
    }
    by_model: dict[str, list[float]] = {}
    values = [number for number in read_printed_numbers(find_paper("gest2024")) if number.kind == "value"]
    for (system, *_), row in collect_rates(values, "9").items():
        by_model.setdefault(gest_tables.load_names()["9", system], []).append(compute_stereotype_rate(row))
    on_gest = {model: fmean(templates) for model, templates in by_model.items()}
    return {(_WITH_WINOBIAS,): correlation(list(on_gest.values()), [on_winobias[model] for model in on_gest])}
