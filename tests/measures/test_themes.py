"""Topics and negation: contrasts within stereotypes, compared with a regression."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from tests.measures.present import present
from tiltmeter.measures.themes import NEGATION, estimate_within_strata, has_words, list_theme_contrasts


def scores(effect: float, seed: int = 0, per_cell: int = 4) -> tuple[pd.DataFrame, set[tuple[str, str, str]]]:
    """Log-ratios of the stereotypes 1, 2, 8 and 9; half of the sentences have the words, which add `effect`."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, float, int, str]] = []
    chosen: set[tuple[str, str, str]] = set()
    for number in (1, 2, 8, 9):
        for with_words in (True, False):
            for place in range(per_cell if with_words else 2 * per_cell):
                item = f"{number}-{with_words}-{place}"
                chosen |= {("gest", "en", item)} if with_words else set()
                level = 0.3 * number + effect * with_words
                side = "feminine" if number < 8 else "masculine"
                rows.append((item, float(rng.normal(level, 0.5)), number, side))
    frame = pd.DataFrame(rows, columns=["item", "score", "stereotype", "side"])
    return frame.assign(model="m", benchmark="gest", part="template-3", language="en"), chosen


def test_the_contrast_is_that_of_a_regression_with_stereotypes() -> None:
    frame, chosen = scores(-0.4)
    contrasts = {contrast.side: contrast for contrast in list_theme_contrasts(frame, chosen)}
    for side, numbers in (("feminine", (1, 2)), ("masculine", (8, 9))):
        rows = frame[frame["stereotype"].isin(numbers)]
        words = rows["item"].isin([item for _, _, item in chosen]).to_numpy(dtype=float)
        level = [(rows["stereotype"] == number).to_numpy(dtype=float) for number in numbers]
        # A level and an effect of the words for each stereotype; both have equally many sentences with the words.
        design = np.column_stack([*level, *(own * words for own in level)])
        target = rows["score"].to_numpy(dtype=float)
        solution, squares, _, _ = np.linalg.lstsq(design, target, rcond=None)
        weights = np.array([0, 0, 0.5, 0.5])
        freedom = len(rows) - 4
        error = np.sqrt(squares[0] / freedom * weights @ np.linalg.inv(design.T @ design) @ weights)
        half = student.ppf(0.975, freedom) * error
        contrast = contrasts[side]
        assert (contrast.n, contrast.others) == (8, 16)
        assert np.log([contrast.ratio, contrast.low, contrast.high]) == pytest.approx(
            [weights @ solution, weights @ solution - half, weights @ solution + half]
        )


def test_the_interval_covers_in_about_95_of_100_data_sets() -> None:
    covered = 0
    for seed in range(400):
        frame, chosen = scores(0.2, seed, per_cell=2)
        contrast = list_theme_contrasts(frame, chosen)[0]
        covered += present(contrast.low) <= np.exp(0.2) <= present(contrast.high)
    assert 0.92 < covered / 400 < 0.98


def test_stereotypes_without_the_words_are_left_out() -> None:
    frame, chosen = scores(0.0)
    (contrast,) = list_theme_contrasts(frame, {key for key in chosen if key[2].startswith("9-")})
    assert (contrast.side, contrast.n, contrast.others) == ("masculine", 4, 8)
    assert list_theme_contrasts(frame, set()) == []
    assert estimate_within_strata([(np.array([1.0]), np.array([0.0]))]) == (pytest.approx(np.e), None, None)


def test_an_id_of_another_benchmark_or_language_is_another_item() -> None:
    frame, chosen = scores(0.0)
    assert list_theme_contrasts(frame, {("gest@1.0", "en", item) for _, _, item in chosen}) == []
    assert list_theme_contrasts(frame, {("gest", "de", item) for _, _, item in chosen}) == []


def test_words_are_whole_words() -> None:
    assert has_words("My KIDS sang.", ("kids",))
    assert not has_words("I was kidding.", ("kid",))
    assert has_words("I don’t know.", NEGATION)
    assert not has_words("I know nothings.", ("nothing",))
