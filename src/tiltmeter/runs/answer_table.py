"""The columns of `answers.parquet`: the answers of chat models."""

import pandas as pd
import pyarrow as pa

from tiltmeter.datasets.dataset_loader import allows_text_export

# The table has one row for each answer. `shares` has one number for each option, in the order in which the options were
# shown: the probability of the option, or 1 if the reply chooses it and 0 otherwise. `thinking` is the text that the
# model wrote before its reply.
ANSWERS_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "benchmark", "part", "language", "protocol", "item")),
        ("wording", pa.int64()),
        ("order", pa.string()),
        ("neutral", pa.bool_()),
        ("sample", pa.int64()),
        ("outcome", pa.string()),
        ("shares", pa.list_(pa.float64())),
        ("reply", pa.string()),
        ("thinking", pa.string()),
    ]
)

_LATER_COLUMNS = ("thinking",)


def drop_restricted_replies(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the table of answers, without the replies about data sets whose licence does not allow storing texts."""
    quoting = ~answers["benchmark"].map(allows_text_export).astype(bool)
    return answers.assign(**{name: answers[name].mask(quoting, "") for name in ("reply", "thinking")})


def add_missing_columns(table: pd.DataFrame, schema: pa.Schema) -> pd.DataFrame:
    """Return the table with empty columns in place of those that runs of earlier versions do not have."""
    missing = [name for name in _LATER_COLUMNS if name in schema.names and name not in table]
    return table.assign(**dict.fromkeys(missing, ""))
