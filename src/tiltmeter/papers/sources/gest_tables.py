"""The recipes for the numbers of GEST's tables."""

import csv
import math
from collections import Counter
from functools import cache
from importlib.resources import files
from io import StringIO

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.forms.gest import GestItem, has_family_words
from tiltmeter.measures.stereotype_sides import MALE
from tiltmeter.papers.printed_numbers import CellKey, find_paper, read_printed_numbers
from tiltmeter.papers.sources import gest_judgements, gest_rated_samples, gest_scores, gest_translations
from tiltmeter.papers.sources.recipe import Numbers, NumberSource, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext

# Each row of Table 3 contains the means over the rows of one of these tables.
GROUPS = {"MT systems": "8", "English MLMs": "9", "English GLMs": "10", "Slavic MLMs": "11"}
_SENTENCES = "data/gest.csv"


def find_source(table: str, cell: CellKey, kind: str, *, from_models: bool) -> NumberSource:
    """Return the source (recipe and key) of the number in a table cell."""
    if table == "1":
        return NumberSource(("sentences", cell["stereotype"]), SENTENCE_COUNTS)
    if table == "4" and from_models:
        runs = [run for recipe in _list_row_recipes("8", from_models) for run in recipe.runs]
        return NumberSource((cell["system"], cell["quantity"]), gest_rated_samples.build_rated_samples(runs))
    if table == "4":
        reason = "The judgements of translations by native speakers were not released; --from-models draws new samples."
        return NumberSource((), lacking=reason)
    if table == "5":
        return NumberSource((cell["system"], cell["quantity"]), gest_judgements.JUDGED_PAIRS)
    if table == "3":
        return _find_mean_source(cell, from_models)
    name = load_names()[table, cell["system"]]
    if table == "7":
        recipe = Recipe(gest_scores.VARIANTS, gest_scores.count_pairs)
        return NumberSource(("pairs", cell["system"], cell["language"]), recipe)
    row_recipe = _build_row_recipe(table, name, cell, from_models)
    if table in ("6", "8"):
        key = ("yield", "all", "value") if table == "6" else ("p_i", cell["stereotype"], kind)
        return NumberSource(key, row_recipe)
    return NumberSource(("q_i", cell["stereotype"], kind), row_recipe)


def _build_row_recipe(table: str, name: str, cell: CellKey, from_models: bool) -> Recipe:
    if table in ("6", "8"):
        build = gest_translations.build_translation_run if from_models else gest_translations.build_recipe
        return build(name, cell["language"])
    if table == "11":
        build_pairs = gest_scores.build_pairs_run if from_models else gest_scores.build_released_pairs
        return build_pairs(name, cell["language"])
    build_scores = gest_scores.build_run if from_models else gest_scores.build_released_scores
    return build_scores(table, name, cell["template"])


def _find_mean_source(cell: CellKey, from_models: bool) -> NumberSource:
    table = GROUPS[cell["system"]]
    rate = cell["quantity"].replace("p/q", "p" if table == "8" else "q")
    runs = tuple(run for recipe in _list_row_recipes(table, from_models) for run in recipe.runs)
    return NumberSource((rate,), Recipe(f"all rows of Table {table}", average_rates, (table, from_models), runs))


@cache
def _list_row_recipes(table: str, from_models: bool) -> list[Recipe]:
    """Return the recipes of all rows of a table, without duplicates."""
    cells = [number.cell for number in read_printed_numbers(find_paper("gest2024")) if number.table == table]
    recipes = (_build_row_recipe(table, load_names()[table, cell["system"]], cell, from_models) for cell in cells)
    return list(dict.fromkeys(recipes))


def average_rates(context: RecipeContext, table: str, from_models: bool) -> Numbers:
    """Return the means over all rows of a table: of the rates about men, about women and about family.

    Raise NotAvailable if one of the rows is not available.
    """
    row_numbers = [context.compute_numbers(recipe) for recipe in _list_row_recipes(table, from_models)]
    letter = "p" if table == "8" else "q"
    return {
        (rate,): math.fsum(numbers[rate, "all", "value"] for numbers in row_numbers) / len(row_numbers)
        for rate in (f"{letter}_m", f"{letter}_f", f"{letter}_fam")
        # A run with few items may lack a rate.
        if all((rate, "all", "value") in numbers for numbers in row_numbers)
    }


def count_sentences(context: RecipeContext) -> Numbers:
    """Return the counts of GEST's first edition: sentences, sentences with words about family, and stereotypes."""
    context.fetch_file(gest_scores.REPOSITORY, _SENTENCES)
    items = [item for item in load("gest-1.0", None, "en") if isinstance(item, GestItem)]
    counted = Counter(item.stereotype for item in items)
    about_family = sum(item.stereotype in MALE and has_family_words(item.sentence) for item in items)
    return {
        **{("sentences", str(number)): float(count) for number, count in counted.items()},
        ("sentences",): float(len(items)),
        ("sentences for stereotypes about men with words about family",): float(about_family),
        ("stereotypes",): float(len(counted)),
    }


SENTENCE_COUNTS = Recipe(_SENTENCES, count_sentences)


def list_models(table: str) -> list[str]:
    """Return the hub ids of the models in a table, without duplicates."""
    return list(dict.fromkeys(name for (one, _), name in load_names().items() if one == table))


@cache
def load_names() -> dict[tuple[str, str], str]:
    """Return a mapping from (table, printed name) to the model's hub id or the translation system's folder."""
    text = files(__package__).joinpath("gest.csv").read_text(encoding="utf-8")
    return {(row["table"], row["system"]): row["name"] for row in csv.DictReader(StringIO(text))}
