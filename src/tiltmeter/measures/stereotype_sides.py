"""The sides of stereotypes: about men or about women.

The number of a GEST stereotype determines its side. Items with other stereotypes have an attribute `side`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.errors import DataError
from tiltmeter.forms.gest import FEMALE, MALE, SIDES, STEREOTYPES, get_gest_side
from tiltmeter.measures.factors import Labels
from tiltmeter.measures.standard_errors import Floats, StandardError, compute_standard_error

__all__ = [
    "FEMALE",
    "FEWEST_STEREOTYPES",
    "GEST_STEREOTYPES",
    "MALE",
    "NO_SIDE",
    "StereotypeTable",
    "compute_random_error",
    "describe_one_sided_data",
    "find_rows_without_side",
    "find_stereotype_sides",
    "list_sub_stereotypes",
    "weigh_by_stereotype",
    "weigh_men_minus_women",
    "weigh_sides",
]

MASCULINE = "masculine"
# Minimum number of stereotypes on each side for an estimate with stereotypes as a random sample.
FEWEST_STEREOTYPES = 5
NO_SIDE = "must be for a stereotype from 1 to 16, or for another one with a side (feminine or masculine)"
_ABOUT = {"feminine": "women", "masculine": "men"}


def weigh_by_stereotype(labels: Labels, sides: Labels | None = None) -> Floats:
    """Return the weight of each item in the mean over stereotypes about men minus the mean over those about women.

    `labels` are the stereotypes of the items. `sides` are the sides of these stereotypes, or None if all stereotypes
    are in GEST.

    >>> weigh_by_stereotype(np.array([4, 17], dtype=object), np.array([None, "masculine"], dtype=object)).tolist()
    [-1.0, 1.0]
    """
    known = find_stereotype_sides(labels, sides)
    return weigh_men_minus_women(labels, lambda label: known[int(str(label))] == MASCULINE)


def weigh_men_minus_women(labels: Labels, is_male: Callable[[object], bool]) -> Floats:
    """Return the weight of each item in the mean over male groups minus the mean over female groups.

    `labels` are the groups of the items. All groups of a side have equal weight, even if their numbers of items differ,
    as in g_s.

    >>> weigh_men_minus_women(np.array(["m", "m", "f"], dtype=object), lambda label: label == "m").tolist()
    [0.5, 0.5, -1.0]
    """
    codes, names = pd.factorize(labels)
    groups = weigh_sides(np.array([is_male(name) for name in names]), 1.0, -1.0)
    weights: Floats = (groups / np.bincount(codes))[codes]
    return weights


def weigh_sides(is_male: NDArray[np.bool_], male: float, female: float) -> Floats:
    """Return the weight of each group in: `male` * (mean over male groups) + `female` * (mean over female groups).

    >>> weigh_sides(np.array([True, True, False]), 1.0, -1.0).tolist()
    [0.5, 0.5, -1.0]
    """
    weights: Floats = male * is_male / max(1, is_male.sum()) + female * ~is_male / max(1, (~is_male).sum())
    return weights


def compute_random_error(values: Floats, is_male: NDArray[np.bool_]) -> StandardError | None:
    """Return Welch's standard error of the mean over stereotypes about men minus the mean over those about women.

    The stereotypes are a random sample; `values` has one value for each. Return None if there are too few stereotypes
    or all have the same value.
    """
    if min(int(is_male.sum()), int((~is_male).sum())) < FEWEST_STEREOTYPES:
        return None
    strata = np.where(is_male, "men", "women").astype(object)
    error = compute_standard_error(values * weigh_sides(is_male, 1.0, -1.0), strata=strata)
    return error if error.value else None


def find_stereotype_sides(labels: Iterable[object], sides: Iterable[object] | None = None) -> dict[int, str]:
    """Return the side of each stereotype; raise an error if a stereotype has no side or two sides."""
    pairs = dict.fromkeys(zip(labels, sides, strict=True) if sides is not None else ((label, None) for label in labels))
    known: dict[int, str] = {}
    for label, side in pairs:
        number = int(str(label))
        own = get_gest_side(number) if number in STEREOTYPES else str(side)
        if own not in SIDES:
            raise DataError(
                f"Stereotype {number} needs a side (feminine or masculine), since it is not one of GEST's (1 to 16)."
            )
        if known.setdefault(number, own) != own:
            raise DataError(f"Stereotype {number} is feminine in some items and masculine in others; give it one side.")
    return known


def find_rows_without_side(scores: pd.DataFrame) -> NDArray[np.bool_]:
    """Return a mask of the rows whose stereotype is not in GEST and has no side."""
    numbers = pd.to_numeric(scores["stereotype"], errors="coerce")
    whole = (numbers % 1 == 0) & (numbers > len(STEREOTYPES))
    sided = scores["side"].isin(SIDES) if "side" in scores.columns else pd.Series(False, index=scores.index)
    return ~(numbers.isin(list(STEREOTYPES)) | (whole & sided)).to_numpy(dtype=bool)


@dataclass(frozen=True, slots=True)
class StereotypeTable:
    """The stereotypes in a table of scores.

    `about_men` are the numbers of the stereotypes about men. `names` maps numbers to names; it may be empty.
    """

    about_men: Collection[int]
    names: Mapping[int, str]

    @classmethod
    def from_scores(cls, scores: pd.DataFrame) -> "StereotypeTable":
        """Collect the stereotypes of a table of scores; raise an error if a stereotype has two sides or two names."""
        columns = [name for name in ("stereotype", "side", "stereotype_name") if name in scores.columns]
        rows = scores[columns].drop_duplicates()
        sides = find_stereotype_sides(rows["stereotype"].astype(int), rows["side"] if "side" in columns else None)
        names: dict[int, str] = {}
        if "stereotype_name" in columns:
            for number, name in rows[["stereotype", "stereotype_name"]].dropna().itertuples(index=False):
                if names.setdefault(int(number), str(name)) != name:
                    raise DataError(
                        f"Stereotype {int(number)} is called {names[int(number)]!r} in some items and {name!r} in "
                        "others; give it one name."
                    )
        return cls(frozenset(number for number, side in sides.items() if side == MASCULINE), names)

    def get_label(self, number: int) -> str | None:
        """Return the number and name of a stereotype as text for display; None if the stereotype has no name."""
        return f"{number} {self.names[number]}" if number in self.names else None


# The sixteen stereotypes of GEST.
GEST_STEREOTYPES = StereotypeTable(MALE, {})


def list_sub_stereotypes(scores: pd.DataFrame) -> list[str]:
    """Return the sub-stereotypes in a table of scores, sorted by the number of their stereotype."""
    if "sub_stereotype" not in scores.columns:
        return []
    names = {str(name) for name in scores["sub_stereotype"].dropna()}
    return sorted(names, key=lambda name: (int(name.split(maxsplit=1)[0]), name))


def describe_one_sided_data(scores: pd.DataFrame, measure: str) -> list[str]:
    """Return a sentence for each model and data set whose stereotypes are all about men, or all about women.

    `measure` is the name of a measure that compares the two sides, so it is not defined for these data sets.
    """
    if "stereotype" not in scores.columns:
        return []
    notes: dict[str, None] = {}
    for names, rows in scores.groupby(["model", "benchmark", "language", "part"], observed=True, sort=False):
        model, benchmark, language, _ = map(str, names)
        sides = find_stereotype_sides(rows["stereotype"].astype(int), rows["side"] if "side" in rows.columns else None)
        if len(set(sides.values())) == 1:
            (side,) = set(sides.values())
            notes[
                f"{measure} of {model} on {benchmark}:{language} is not defined: all items with a score are for "
                f"stereotypes about {_ABOUT[side]}, and {measure} compares those about men with those about women."
            ] = None
    return list(notes)
