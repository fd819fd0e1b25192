"""Topics and negation in GEST: do sentences with certain words differ from the others for the same stereotype?

A model may react to a single word instead of the meaning of a sentence: for example, to *family* in a sentence about
providing for a family, or to *emotions* in a sentence about hiding emotions (Pikuliak et al. 2024, section 7.4). The
paper compares the sentences with family words for stereotypes about men with all sentences for these stereotypes. Here
sentences are compared with sentences of the same stereotype, because the words are more frequent in some stereotypes
than in others.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from tiltmeter.forms.gest import SIDES
from tiltmeter.measures.stereotype_sides import StereotypeTable

# English words that negate a sentence; n't is matched at the end of a word.
NEGATION = ("not", "n't", "never", "no", "none", "nobody", "nothing", "nowhere", "neither", "nor", "without", "cannot")


@dataclass(frozen=True, slots=True)
class ThemeContrast:
    """A comparison of sentences that contain certain words with sentences that do not, for the stereotypes of one side.

    `n` is the number of sentences with the words, `others` the number of sentences without them. `where` names model,
    benchmark, part and language. `ratio` is the masculine rate of the sentences with the words divided by the masculine
    rate of the other sentences. `low` and `high` are None if there are too few sentences for an interval.
    """

    where: str
    side: str
    n: int
    others: int
    ratio: float
    low: float | None
    high: float | None


def has_words(text: str, words: Sequence[str]) -> bool:
    """Tell whether a text contains one of the words as a whole word; upper and lower case are not distinguished.

    >>> has_words("I didn't sing.", NEGATION), has_words("I sang a note.", NEGATION)
    (True, False)
    """
    return re.search(_build_pattern(tuple(words)), text.replace("’", "'")) is not None


def _build_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    whole = [word for word in words if not word.startswith("n'")]
    ends = [rf"\w{re.escape(word)}\b" for word in words if word.startswith("n'")]
    return re.compile("|".join([rf"\b(?:{'|'.join(map(re.escape, whole))})\b"] * bool(whole) + ends), re.IGNORECASE)


def list_theme_contrasts(scores: pd.DataFrame, items: Iterable[tuple[str, str, str]]) -> list[ThemeContrast]:
    """Compare the items in `items` with all other items, for each model, benchmark, part, language and side.

    `items` contains tuples (benchmark, language, id). Items without a stereotype, such as those of WinoBias, are
    ignored.
    """
    chosen = set(items)
    scores = scores[scores["stereotype"].notna()]
    contrasts: list[ThemeContrast] = []
    for names, rows in scores.groupby(["model", "benchmark", "part", "language"], observed=True, sort=False):
        model, benchmark, part, language = map(str, names)
        is_chosen = np.array([(benchmark, language, item) in chosen for item in rows["item"]], dtype=bool)
        contrasts += _build_contrasts(f"{model} {benchmark}/{part}:{language}", rows, is_chosen)
    return contrasts


def _build_contrasts(where: str, rows: pd.DataFrame, chosen: NDArray[np.bool_]) -> Iterator[ThemeContrast]:
    values, numbers = rows["score"].to_numpy(dtype=float), rows["stereotype"].to_numpy(dtype=int)
    about_men = np.isin(numbers, list(StereotypeTable.from_scores(rows).about_men))
    for side, of_side in zip(SIDES, (~about_men, about_men), strict=True):
        strata = [
            (values[here & chosen], values[here & ~chosen])
            for number in np.unique(numbers[of_side])
            if (here := numbers == number) is not None and (here & chosen).any() and (here & ~chosen).any()
        ]
        if strata:
            ratio, low, high = estimate_within_strata(strata)
            n, others = (sum(len(stratum[index]) for stratum in strata) for index in (0, 1))
            yield ThemeContrast(where, side, n, others, ratio, low, high)


def estimate_within_strata(
    strata: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> tuple[float, float | None, float | None]:
    """Return the ratio of masculine rates and the two ends of its 95% interval.

    `strata` has two arrays for each stereotype: the log ratios of sentences with the words, and of sentences without
    them. The differences of their means are weighted by the number of sentences with the words. The interval is
    Student's t with the pooled variance of all arrays, because many arrays have only one or two sentences.
    """
    sizes = np.array([(len(some), len(rest)) for some, rest in strata], dtype=float)
    weights = sizes[:, 0] / sizes[:, 0].sum()
    difference = float(weights @ [some.mean() - rest.mean() for some, rest in strata])
    freedom = int(sizes.sum()) - 2 * len(strata)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for stratum in strata for group in stratum)
    if freedom < 1 or not squares:
        return math.exp(difference), None, None
    error = math.sqrt(squares / freedom * float(weights**2 @ (1 / sizes).sum(axis=1)))
    half = float(stdtrit(freedom, 0.975)) * error
    return math.exp(difference), math.exp(difference - half), math.exp(difference + half)
