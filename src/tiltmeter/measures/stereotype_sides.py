"""Whom stereotypes are about, men or women: GEST's sixteen by their numbers, others by the `side` of their items."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.errors import DataError
from tiltmeter.forms.gest import FEMALE, MALE, SIDES, STEREOTYPES, get_gest_side
from tiltmeter.measures.standard_errors import Floats, Labels

__all__ = [
    "FEMALE",
    "FEWEST_STEREOTYPES",
    "GEST_STEREOTYPES",
    "MALE",
    "StereotypeTable",
    "describe_one_sided_data",
    "find_rows_without_side",
    "find_stereotype_sides",
    "list_sub_stereotypes",
    "weigh_by_stereotype",
    "weigh_men_minus_women",
]

MASCULINE = "masculine"
# Fewest stereotypes on either side for an estimate with random stereotypes.
FEWEST_STEREOTYPES = 5
_ABOUT = {"feminine": "women", "masculine": "men"}


def weigh_by_stereotype(labels: Labels, sides: Labels | None = None) -> Floats:
    """The weight of each item in the mean over stereotypes about men minus that over stereotypes about women.

    `labels` are the items' stereotypes, `sides` their sides; GEST's sixteen have theirs by their numbers.

    >>> weigh_by_stereotype(np.array([4, 17], dtype=object), np.array([None, "masculine"], dtype=object)).tolist()
    [-1.0, 1.0]
    """
    known = find_stereotype_sides(labels, sides)
    return weigh_men_minus_women(labels, lambda label: known[int(str(label))] == MASCULINE)


def weigh_men_minus_women(labels: Labels, is_male: Callable[[object], bool]) -> Floats:
    """The weight of each item in the mean over male groups minus the mean over female groups.

    Groups of one side have equal weight, however many items they have, as in g_s.

    >>> weigh_men_minus_women(np.array(["m", "m", "f"], dtype=object), lambda label: label == "m").tolist()
    [0.5, 0.5, -1.0]
    """
    codes, names = pd.factorize(labels)
    male = np.array([is_male(name) for name in names])
    groups = np.where(male, 1.0 / max(1, male.sum()), -1.0 / max(1, (~male).sum()))
    weights: Floats = (groups / np.bincount(codes))[codes]
    return weights


def find_stereotype_sides(labels: Iterable[object], sides: Iterable[object] | None = None) -> dict[int, str]:
    """The side of each stereotype; an error if one has none, or two."""
    pairs = dict.fromkeys(zip(labels, sides, strict=True) if sides is not None else ((label, None) for label in labels))
    known: dict[int, str] = {}
    for label, side in pairs:
        number = int(str(label))
        own = get_gest_side(number) if number in STEREOTYPES else str(side)
        if own not in SIDES:
            raise DataError(f"Stereotype {number} is not one of GEST's, from 1 to 16, and its items have no side.")
        if known.setdefault(number, own) != own:
            raise DataError(f"Stereotype {number} is feminine in some items and masculine in others; give it one side.")
    return known


def find_rows_without_side(scores: pd.DataFrame) -> NDArray[np.bool_]:
    """The rows of a table of scores whose stereotype is neither one of GEST's nor has a side."""
    numbers = pd.to_numeric(scores["stereotype"], errors="coerce")
    whole = (numbers % 1 == 0) & (numbers > len(STEREOTYPES))
    sided = scores["side"].isin(SIDES) if "side" in scores.columns else pd.Series(False, index=scores.index)
    return ~(numbers.isin(list(STEREOTYPES)) | (whole & sided)).to_numpy(dtype=bool)


@dataclass(frozen=True, slots=True)
class StereotypeTable:
    """The stereotypes in a table of scores, by number: which are about men, and the names that their items give."""

    about_men: Collection[int]
    names: Mapping[int, str]

    @classmethod
    def from_scores(cls, scores: pd.DataFrame) -> "StereotypeTable":
        """The stereotypes of a table of scores; an error if one has two sides or names."""
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

    def label(self, number: int) -> str | None:
        """The number and name of a stereotype, if its items name it."""
        return f"{number} {self.names[number]}" if number in self.names else None


# GEST's own, which need no description in the data.
GEST_STEREOTYPES = StereotypeTable(MALE, {})


def list_sub_stereotypes(scores: pd.DataFrame) -> list[str]:
    """The sub-stereotypes in a table of scores, by the number of their stereotype."""
    if "sub_stereotype" not in scores.columns:
        return []
    names = {str(name) for name in scores["sub_stereotype"].dropna()}
    return sorted(names, key=lambda name: (int(name.split(maxsplit=1)[0]), name))


def describe_one_sided_data(scores: pd.DataFrame, measure: str) -> list[str]:
    """A sentence for each model and data set whose items are all for stereotypes of one side.

    A measure that compares the two sides is then not defined.
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
                f"{measure} of {model} on {benchmark}:{language} is not defined: all items that it scored are for "
                f"stereotypes about {_ABOUT[side]}, and {measure} compares those about men with those about women."
            ] = None
    return list(notes)
