"""The columns of the answers of chat models."""

import pandas as pd
import pyarrow as pa

from tiltmeter.datasets.dataset_loader import allows_text_export

# Of the table `answers.parquet`: one row for each answer. `shares` are those of the options by place.
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
    ]
)


def without_replies(answers: pd.DataFrame) -> pd.DataFrame:
    """The answers with empty replies where these may quote texts that a run does not keep."""
    quoting = ~answers["benchmark"].map(allows_text_export).astype(bool)
    return answers.assign(reply=answers["reply"].mask(quoting, ""))
