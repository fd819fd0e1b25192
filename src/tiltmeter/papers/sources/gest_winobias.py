"""Recipes for the correlation of GEST with WinoBias over eleven masked models (GEST, Appendix B.2)."""

import csv
import math
from collections.abc import Mapping, Sequence
from io import StringIO
from statistics import correlation, fmean

from scipy.stats import pearsonr

from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.papers.printed_numbers import find_paper, read_printed_numbers
from tiltmeter.papers.sources.gest_scores import REPOSITORY, TEMPLATES, build_released_scores
from tiltmeter.papers.sources.gest_tables import list_models, load_names
from tiltmeter.papers.sources.recipe import Numbers, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.papers.sources.table_facts import collect_rates, compute_stereotype_rate

_FILE = "data/predictions/winobias/winobias.csv"
_TABLE = "9"
CORRELATION = "correlation of g_s with WinoBias"
P_VALUE = "p-value of the correlation of g_s with WinoBias"


def correlate_with_printed(context: RecipeContext) -> Numbers:
    """Return the correlation over masked models of g_s in Table 9 with g_s from the released WinoBias scores."""
    by_model: dict[str, list[float]] = {}
    values = [number for number in read_printed_numbers(find_paper("gest2024")) if number.kind == "value"]
    for (system, *_), row in collect_rates(values, _TABLE).items():
        by_model.setdefault(load_names()[_TABLE, system], []).append(compute_stereotype_rate(row))
    on_gest, on_winobias = _pair_up(by_model, read_winobias(context))
    return {(CORRELATION,): correlation(on_gest, on_winobias)}


def compute_p_value(context: RecipeContext) -> Numbers:
    """Return the p-value of the correlation of g_s, from the released scores of all templates, with WinoBias.

    The rounded Table 9 is not precise enough for the p-value.
    """
    templates = range(1, len(TEMPLATES[_TABLE]) + 1)
    by_model = {
        model: [
            context.compute_numbers(build_released_scores(_TABLE, model, str(template)))["g_s", "all", "value"]
            for template in templates
        ]
        for model in list_models(_TABLE)
    }
    return {(P_VALUE,): float(pearsonr(*_pair_up(by_model, read_winobias(context))).pvalue)}


def read_winobias(context: RecipeContext) -> dict[str, float]:
    """Return g_s on the released WinoBias scores (type 1, test) of each model."""
    path = context.fetch_file(REPOSITORY, _FILE)
    return {
        row["model_name"]: math.exp(float(row["logprob_male_professions"]) - float(row["logprob_female_professions"]))
        for row in csv.DictReader(StringIO(read_text(path)))
        if (row["dataset_type"], row["dataset_split"]) == ("1", "test")
    }


def _pair_up(
    by_model: Mapping[str, Sequence[float]], on_winobias: Mapping[str, float]
) -> tuple[list[float], list[float]]:
    """Return the mean g_s over the templates of each model, and its g_s on WinoBias."""
    return [fmean(templates) for templates in by_model.values()], [on_winobias[model] for model in by_model]


PRINTED = Recipe(f"{_FILE} and Table 9 as printed", correlate_with_printed)
RELEASED = Recipe(f"{_FILE} and the scores of all models", compute_p_value)
