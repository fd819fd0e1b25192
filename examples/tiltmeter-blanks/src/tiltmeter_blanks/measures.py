"""The measure: the percentage of items in which the expected word is preferred."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from tiltmeter.measures.estimates import PERCENT, Share
from tiltmeter.measures.factors import build_factors
from tiltmeter.measures.item_contributions import ItemValues, Roles, Strength
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.records import (
    Record,
    RecordKey,
    build_estimate_record,
    build_record,
    split_by_key,
)
from tiltmeter.measures.standard_errors import Floats

# The roles and columns that this measure needs in a score table.
NEEDS_ROLES = ("expected", "other")
NEEDS_COLUMNS = ("topic",)


def preference(roles: Roles) -> Floats:
    """Return 100 for items whose expected word has the higher score, 50 for ties, and 0 for the others."""
    expected, other = roles["expected"], roles["other"]
    return 50.0 * np.array([(expected > other).astype(float) + (expected >= other)])


BLANK_SCORE = Measure(
    "blank score",
    "the percentage of sentences in which the expected word is more likely; 50 is no bias",
    axis="expected word preferred, % of sentences",
    ideal=50.0,
    bias_direction=1,
    bounds=PERCENT,
    unit="points",
    margin=5.0,
    decides=True,
    columns=("blank score",),
    statement=lambda value: f"the expected word was preferred in {value:.1f}% of sentences",
    items=(
        ItemValues(
            NEEDS_ROLES,
            preference,
            preference=True,
            factors=("topic",),
            strengths=(Strength(NEEDS_ROLES, "difference"),),
        ),
    ),
)
MEASURES = (BLANK_SCORE,)


def measure(
    scores: pd.DataFrame, *, margins: Mapping[str, float] | None = None, intervals: bool = True
) -> list[Record]:
    """Return the records of a score table, over all items and by topic."""
    return [
        record
        for key, rows in split_by_key(scores)
        for record in _records(key, rows, (margins or {}).get(BLANK_SCORE.name), intervals)
    ]


def _records(key: RecordKey, rows: pd.DataFrame, margin: float | None, intervals: bool) -> Iterator[Record]:
    table = rows.pivot(index="item", columns="role", values="score").sort_index()
    topics = rows.drop_duplicates("item").set_index("item")["topic"].loc[table.index].to_numpy(dtype=object)
    values = preference({role: table[role].to_numpy(dtype=float) for role in NEEDS_ROLES})[0]
    factors = build_factors({"topic": topics}, ["topic"])
    groups = [("all", "all", np.ones(len(values), dtype=bool))]
    groups += [("topic", topic, topics == topic) for topic in sorted(set(topics))]
    for view, group, members in groups:
        group_values = values[members]
        if intervals:
            share = Share.from_values(group_values, factors if view == "all" else None)
            yield build_estimate_record(key, key.part, view, group, BLANK_SCORE, share, len(group_values), margin)
        else:
            yield build_record(key, key.part, view, group, BLANK_SCORE, float(group_values.mean()), len(group_values))
