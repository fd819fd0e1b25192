"""Tables of scores: one row for each item and role."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pandas as pd

from tiltmeter.forms import Item, get_form
from tiltmeter.runs.portions import Portion

# The number of rows that are converted to a table at once. Rows of Python objects take ten times the memory of a table.
_ROWS = 20_000


def build_score_table(
    model: str,
    portion: Portion,
    protocol: str,
    rows: Iterable[tuple[Item, str, str, float]],
) -> pd.DataFrame:
    """Return a table of scores from rows of (item, candidate, role, score)."""
    entries = _list_rows(model, portion, protocol, rows)
    tables = [pd.DataFrame(list(islice(entries, _ROWS)))]
    while batch := list(islice(entries, _ROWS)):
        tables.append(pd.DataFrame(batch))
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)


def _list_rows(
    model: str, portion: Portion, protocol: str, rows: Iterable[tuple[Item, str, str, float]]
) -> Iterator[dict[str, Any]]:
    attributes = get_form(portion.form).attributes
    for item, candidate, role, score in rows:
        yield {
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
