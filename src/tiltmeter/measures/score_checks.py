"""What every table of scores has to pass before it is measured."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from tiltmeter.errors import DataError


def require_columns(scores: pd.DataFrame, names: Iterable[str]) -> None:
    """Refuse a table without one of these columns."""
    missing = [name for name in names if name not in scores.columns]
    if missing:
        raise DataError(f"The table of scores has no column {', '.join(missing)}.")


def require_finite_scores(scores: pd.DataFrame) -> None:
    """Refuse a table with a score that is not a finite number."""
    bad = ~np.isfinite(scores["score"].to_numpy(dtype=float))
    if bad.any():
        row = scores[bad].iloc[0]
        raise DataError(f"The score {row['score']} of {row['model']} for item {row['item']} is not a finite number.")
