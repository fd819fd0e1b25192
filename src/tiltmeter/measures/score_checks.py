"""Checks of tables of scores before they are measured."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.errors import DataError


def require_columns(scores: pd.DataFrame, names: Iterable[str]) -> None:
    """Raise an error if a table of scores lacks one of these columns."""
    missing = [name for name in names if name not in scores.columns]
    if missing:
        raise DataError(f"The table of scores has no column {', '.join(missing)}.")


def require_values(scores: pd.DataFrame, names: Iterable[str]) -> None:
    """Raise an error if a table of scores lacks one of these columns, or if a row has no value in one of them."""
    names = list(names)
    require_columns(scores, names)
    for name in names:
        reject_rows(scores, scores[name].isna(), f"has no value in the column {name}")


def require_finite_scores(scores: pd.DataFrame) -> None:
    """Raise an error if a score is not a finite number."""
    reject_rows(scores, ~np.isfinite(scores["score"].to_numpy(dtype=float)), "is not a finite number")


def require_single_scores(scores: pd.DataFrame, names: Iterable[str]) -> None:
    """Raise an error if two rows have the same values in these columns."""
    names = list(names)
    reject_rows(scores, scores.duplicated(names), f"is the second score with the same {', '.join(names)}")


def reject_rows(rows: pd.DataFrame, is_bad: "NDArray[np.bool_] | pd.Series[bool]", problem: str) -> None:
    """Raise an error about the first row for which `is_bad` is true, if there is such a row.

    The message starts with the row as its subject; `problem` is the rest of the sentence.
    """
    if is_bad.any():
        row = rows.iloc[int(np.argmax(is_bad))]
        raise DataError(
            f"The score {row['score']} (role {row.get('role')}) of {row['model']} for item {row['item']} of "
            f"{row['benchmark']}/{row['part']}:{row['language']} {problem}."
        )
