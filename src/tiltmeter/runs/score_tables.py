"""Tables of scores: one row for each item and role."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from tiltmeter.forms import Item, form_named
from tiltmeter.runs.portions import Portion


def score_table(
    model: str,
    portion: Portion,
    protocol: str,
    rows: Iterable[tuple[Item, str, str, float]],
) -> pd.DataFrame:
    """A table of scores from rows of (item, candidate, role, score)."""
    attributes = form_named(portion.form).attributes
    entries: list[dict[str, Any]] = [
        {
            "model": model,
            "benchmark": portion.name,
            "part": portion.part,
            "language": portion.language,
            "item": item.id,
            "candidate": candidate,
            "role": role,
            "score": score,
            **attributes(item),
            "protocol": protocol,
        }
        for item, candidate, role, score in rows
    ]
    return pd.DataFrame(entries)
