"""Coverage and errors of type I of association d: lists of words that a chat model assigns to one of two groups."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from perf.simulations.intervals import covered
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from tiltmeter.measures.factors import read_factors
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.word_association import FACTORS, estimate_fixed_d, estimate_random_d

TABLES = (
    Table(
        "word lists",
        "Association d, words with pairs of names in two orders and two wordings: coverage, and errors of type I",
        ("tests × names × words", "true d", "spread of tests", "spread of words", "spread of names", "unreadable"),
        ("these tests", "stereotypes like these", "type I"),
    ),
)


@dataclass(frozen=True)
class Lists:
    """Lists of words: the number of tests, pairs of names in a test, and words in a list."""

    tests: int
    names: int
    words: int

    def build_labels(self) -> pd.DataFrame:
        """Return a row for each item; the words of all tests are from a pool that is half as large as their number."""
        shape = (self.tests, self.names, self.words)
        test, name, word = (axis.ravel() for axis in np.indices(shape))
        pool = max(self.words, self.tests * self.words // 2)
        labels = pd.DataFrame(
            {"test": test, "names": test * self.names + name, "word": (test * self.words + word) % pool}
        )
        return labels.astype(str)


SHAPES = (Lists(8, 4, 16), Lists(21, 3, 12))
# The true d, and the standard deviations of the effects of tests, words and pairs of names; the share of lost answers.
TRUTHS = ((0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.2, 0.1, 0.0), (0.0, 0.2, 0.2, 0.1, 0.1), (0.4, 0.2, 0.2, 0.1, 0.0))


def word_lists(lists: Lists, d: float, tests: float, words: float, names: float, lost: float) -> Simulate:
    """Simulate four answers about each word; the effects of tests, words and names add to the probability."""
    labels = lists.build_labels()
    tests_of_items = labels["test"].to_numpy(dtype=object)
    factors = read_factors(labels, FACTORS)
    codes = {name: pd.factorize(labels[name])[0] for name in labels}

    def draw_effects(rng: Rng, column: str, spread: float) -> Floats:
        # Two values with equal probability keep the mean, so that the truth is known.
        effects = spread / 2 * rng.choice([-1.0, 1.0], codes[column].max() + 1)
        return np.asarray(effects)

    def draw_and_count(rng: Rng) -> dict[str, bool | None]:
        by_test = draw_effects(rng, "test", tests)
        by_word, by_name = draw_effects(rng, "word", words), draw_effects(rng, "names", names)
        means = (1 + d) / 2 + by_test[codes["test"]]
        rates = np.clip(means + by_word[codes["word"]] + by_name[codes["names"]], 0.0, 1.0)[:, np.newaxis]
        answered = rng.random((len(labels), 4)) >= lost
        chosen = rng.random((len(labels), 4)) < rates
        given = answered.sum(axis=1)
        percentages = np.divide(
            100.0 * (chosen * answered).sum(axis=1), given, out=np.full(len(labels), np.nan), where=given > 0
        )
        here = estimate_fixed_d(percentages, tests_of_items, factors)
        like = estimate_random_d(percentages, tests_of_items, factors)
        assert like is not None
        # The mean over the tests of this data set; words and names are samples.
        fixed = float(2 * np.mean((1 + d) / 2 + by_test) - 1)
        return {
            "these tests": covered(here, fixed),
            "stereotypes like these": covered(like, d),
            "type I": not covered(here, 0.0) if fixed == 0 else None,
        }

    return each(draw_and_count)


def settings() -> Iterator[Setting]:
    """Yield the settings of all shapes and truths."""
    for lists in SHAPES:
        for truth in TRUTHS:
            row = (f"{lists.tests} × {lists.names} × {lists.words}", *(f"{number:g}" for number in truth))
            yield Setting("word lists", row, word_lists(lists, *truth), most=1_000)
