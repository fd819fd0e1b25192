"""Strazda and Spanakis (2025), recomputed from the released scores of masked models on pairs in three languages."""

import csv
import io
import math
from pathlib import Path

import pandas as pd

from tiltmeter.datasets.readers.decoded_text import read_mac_roman_text
from tiltmeter.errors import DataError
from tiltmeter.measures import pairs
from tiltmeter.papers.printed_numbers import CellKey
from tiltmeter.papers.sources.recipe import Numbers, NumberSource, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext

REPOSITORY = "jerryspan/Dutch-CrowS-Pairs"
# The number of sentence pairs in each language.
PAIRS = 1463
_FOLDERS = {"nl": "dutch_mlms", "en": "eng_mlms", "fr": "french_mlms"}
_COLUMNS = ("sent_more_score", "sent_less_score", "score", "stereo_antistereo", "bias_type")
_NO_RUN = (
    "The released code gives most of these models lowercase text, which Tiltmeter does not do; run without "
    "--from-models to use the released scores."
)


def find_source(cell: CellKey, *, from_models: bool) -> NumberSource:
    """Return the source (recipe and key) of the number in a table cell."""
    key = ("all", "all", cell["metric"])
    if from_models:
        return NumberSource(key, lacking=_NO_RUN)
    model, language = cell["model"], cell["language"]
    return NumberSource(key, Recipe(get_score_path(model, language), measure_pair_scores, (model, language)))


def get_score_path(model: str, language: str) -> str:
    """Return the path of a model's released scores.

    >>> get_score_path("mBERT", "nl")
    'results/results_mlms/dutch_mlms/results_mbert.csv'
    """
    return f"results/results_mlms/{_FOLDERS[language]}/results_{model.lower()}.csv"


def measure_pair_scores(context: RecipeContext, model: str, language: str) -> Numbers:
    """Return the published CrowS-Pairs score (CPS), over all pairs and by bias type, from a model's released scores."""
    path = context.fetch_file(REPOSITORY, get_score_path(model, language))
    records = pairs.measure(read_pair_scores(path, model, language), intervals=False)
    return {(r.view, r.group, "CPS"): r.value for r in records if r.measure == pairs.CPS_PUBLISHED.name}


def read_pair_scores(path: Path, model: str, language: str) -> pd.DataFrame:
    """Return the table of scores from a released file.

    The released files use commas or semicolons as delimiters, and UTF-8 or Mac Roman as encoding.
    """
    text = read_mac_roman_text(path)
    delimiter = ";" if text.partition("\n")[0].count(";") > text.partition("\n")[0].count(",") else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise DataError(f"{path} has no column {', '.join(missing)}; download it again.")
    shared = {"model": model, "benchmark": "crows-pairs-dutch", "part": "all", "language": language}
    rows = []
    for number, row in enumerate(reader):
        scores = [_parse_number(row[name]) for name in ("sent_more_score", "sent_less_score")]
        if None in row.values() or None in row or not all(map(math.isfinite, scores)):
            raise DataError(f"{path}, pair {number + 1}: expected two scores and six other values; download it again.")
        if (scores[0] > scores[1]) != (row["score"].strip() == "1"):
            raise DataError(f"{path}, pair {number + 1}: the preference contradicts the scores; download it again.")
        labels = {"bias_type": row["bias_type"], "direction": row["stereo_antistereo"], "protocol": "published"}
        rows += [
            {**shared, **labels, "item": str(number), "role": role, "score": score}
            for role, score in zip(("more", "less"), scores, strict=True)
        ]
    if len(rows) != 2 * PAIRS:
        raise DataError(f"{path} has scores for {len(rows) // 2} pairs instead of {PAIRS}; download it again.")
    return pd.DataFrame(rows)


def _parse_number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return math.nan
