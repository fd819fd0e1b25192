"""Recipes for the judgements of people that were released with GEST: of pairs (Table 5) and of sentences (Section 3.3).

The judgements of translations (Table 4) were not released.
"""

import csv
from collections import Counter
from io import StringIO

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.errors import DataError
from tiltmeter.forms.gendered_pairs import find_rejection_reason
from tiltmeter.papers.sources.gest_scores import REPOSITORY
from tiltmeter.papers.sources.recipe import Numbers, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext

_PAIRS = "data/gender-swap-annotations.txt"
_SENTENCES = "data/annotations.csv"
# The letters in the released file, and the names of the cases in the table.
_CASES = {"X": "case 1", "G": "case 2", "C": "case 3"}
WRITTEN = "sentences that were written"
REMOVED = "sentences that the raters removed"
OTHER_PERSON = "sentences that are not in the first person"
_REJECTED = "no"


def count_judged_pairs(context: RecipeContext) -> Numbers:
    """Return the judged pairs by the decision of the filter, which is applied again here, and by their case."""
    text = "\n".join(read_text(context.fetch_file(REPOSITORY, _PAIRS)).splitlines())
    blocks = (block.strip().splitlines() for block in text.split("\n\n"))
    judged = [block for block in blocks if len(block) == 3 and block[-1] in _CASES]
    if not judged:
        raise DataError(f"{_PAIRS} contains no judged pairs: two sentences and X, G or C; download it again.")
    counted = Counter(
        ("negative" if find_rejection_reason(male, female) else "positive", _CASES[letter])
        for male, female, letter in judged
    )
    return {
        (decision, case): float(counted[decision, case])
        for decision in ("positive", "negative")
        for case in _CASES.values()
    }


def count_rated_sentences(context: RecipeContext) -> Numbers:
    """Return how many sentences were written for GEST, and how many were removed in each of the two steps.

    The sentences that the raters kept but the first edition lacks were removed because of their person.
    """
    rows = list(csv.DictReader(StringIO(read_text(context.fetch_file(REPOSITORY, _SENTENCES)))))
    removed = sum(row["final_verdict"] == _REJECTED for row in rows)
    released = len(load("gest-1.0", None, "en"))
    return {
        (WRITTEN,): float(len(rows)),
        (REMOVED,): float(removed),
        (OTHER_PERSON,): float(len(rows) - removed - released),
    }


JUDGED_PAIRS = Recipe(_PAIRS, count_judged_pairs)
RATED_SENTENCES = Recipe(_SENTENCES, count_rated_sentences)
