"""Strazda and Spanakis (2025): recomputed from the released scores of masked models on pairs in three languages."""

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tiltmeter.datasets.readers.decoded_text import read_mac_text
from tiltmeter.errors import DataError
from tiltmeter.measures import pairs
from tiltmeter.papers.printed_numbers import CellKey
from tiltmeter.papers.sources.recipe import Numbers, NumberSource
from tiltmeter.papers.sources.recipe_context import RecipeContext

REPOSITORY = "jerryspan/Dutch-CrowS-Pairs"
# The number of pairs in each language.
PAIRS = 1463
_FOLDERS = {"nl": "dutch_mlms", "en": "eng_mlms", "fr": "french_mlms"}
_COLUMNS = ("sent_more_score", "sent_less_score", "score", "stereo_antistereo", "bias_type")
_NO_RUN = (
    "The released code gives most of these models lowercase text, which Tiltmeter does not; their released scores are "
    "read without --from-models."
)


def find_source(cell: CellKey, *, from_models: bool) -> NumberSource:
    """The source of the number in a cell."""
    key = ("all", "all", cell["metric"])
    if from_models:
        return NumberSource(key, lacking=_NO_RUN)
    return NumberSource(key, ReleasedPairScores(cell["model"], cell["language"]))


def get_score_path(model: str, language: str) -> str:
    """The path of the released scores of a model.

    >>> get_score_path("mBERT", "nl")
    'results/results_mlms/dutch_mlms/results_mbert.csv'
    """
    return f"results/results_mlms/{_FOLDERS[language]}/results_{model.lower()}.csv"


@dataclass(frozen=True, slots=True)
class ReleasedPairScores:
    """The released scores of a masked model on the pairs of one language."""

    model: str
    language: str

    @property
    def name(self) -> str:
        """The file."""
        return get_score_path(self.model, self.language)

    def numbers(self, desk: RecipeContext) -> Numbers:
        """CPS as published, of all pairs and by bias type."""
        path = desk.fetch(REPOSITORY, self.name)
        records = pairs.measure(read_pair_scores(path, self.model, self.language), intervals=False)
        return {(r.view, r.group, "CPS"): r.value for r in records if r.measure == pairs.CPS_PUBLISHED.name}


def read_pair_scores(path: Path, model: str, language: str) -> pd.DataFrame:
    """The table of scores in a released file.

    The files are separated by commas or semicolons, and in UTF-8 or Mac Roman; rows are those of the data.
    """
    text = read_mac_text(path)
    delimiter = ";" if text.partition("\n")[0].count(";") > text.partition("\n")[0].count(",") else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise DataError(f"{path} has no column {', '.join(missing)}; fetch it again.")
    case = {"model": model, "benchmark": "crows-pairs-dutch", "part": "all", "language": language}
    rows = []
    for number, row in enumerate(reader):
        scores = [_parse_number(row[name]) for name in ("sent_more_score", "sent_less_score")]
        if None in row.values() or None in row or not all(map(math.isfinite, scores)):
            raise DataError(f"{path}, pair {number + 1}: two scores and six other values are wanted; fetch it again.")
        if (scores[0] > scores[1]) != (row["score"].strip() == "1"):
            raise DataError(f"{path}, pair {number + 1}: the preference does not follow from its scores.")
        labels = {"bias_type": row["bias_type"], "direction": row["stereo_antistereo"], "protocol": "published"}
        rows += [
            {**case, **labels, "item": str(number), "role": role, "score": score}
            for role, score in zip(("more", "less"), scores, strict=True)
        ]
    if len(rows) != 2 * PAIRS:
        raise DataError(f"{path} has the scores of {len(rows) // 2} pairs, not of {PAIRS}; fetch it again.")
    return pd.DataFrame(rows)


def _parse_number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return math.nan
