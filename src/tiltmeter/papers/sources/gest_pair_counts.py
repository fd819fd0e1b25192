"""Recipes for the mean numbers of pairs in a language (GEST, Section 4.3.2), counted as in the released code.

A pair is counted once, in its first language. The numbers are totals over all languages, divided by the nine languages.
"""

from tiltmeter.errors import ModelError
from tiltmeter.forms.gendered_pairs import find_rejection_reason
from tiltmeter.papers.sources.gest_scores import REPOSITORY, VARIANTS
from tiltmeter.papers.sources.gest_tables import list_models
from tiltmeter.papers.sources.recipe import NotAvailable, Numbers, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.runs.gest_pair_predictions import load_pairs, select_scored_pairs

DISTINCT = "distinct pairs in a language"
LEAST = "fewest pairs in a language that a model scores"
MOST = "most pairs in a language that a model scores"
_TABLE = "11"


def count_distinct_pairs(context: RecipeContext) -> Numbers:
    """Return the mean number of distinct pairs in a language that the filters accept."""
    context.fetch_file(REPOSITORY, VARIANTS)
    pairs = context.compute_once(load_pairs)
    distinct = {(item.male, item.female) for item in pairs if find_rejection_reason(item.male, item.female) is None}
    return {(DISTINCT,): len(distinct) / len({item.language for item in pairs})}


def count_scored_pairs(context: RecipeContext) -> Numbers:
    """Return the mean number of pairs in a language that differ in one token: for the models with fewest and most."""
    context.fetch_file(REPOSITORY, VARIANTS)
    pairs = context.compute_once(load_pairs)
    languages = sorted({item.language for item in pairs})
    try:
        totals = [
            sum(len(select_scored_pairs(pairs, language, context.get_model_path(hub))[0]) for language in languages)
            for hub in list_models(_TABLE)
        ]
    except ModelError as error:
        raise NotAvailable(str(error)) from error
    return {(LEAST,): min(totals) / len(languages), (MOST,): max(totals) / len(languages)}


DISTINCT_PAIRS = Recipe(VARIANTS, count_distinct_pairs)
SCORED_PAIRS = Recipe(f"{VARIANTS} and the tokenizers of all models", count_scored_pairs)
