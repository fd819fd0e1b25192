"""The columns of `answers.parquet`: the answers of chat models."""

import pandas as pd
import pyarrow as pa

from tiltmeter.datasets.dataset_loader import allows_text_export

# One row for each answer; `shares` are the shares of the options by place.
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
    """Return the answers with empty replies for data sets whose texts may not be stored."""
    quoting = ~answers["benchmark"].map(allows_text_export).astype(bool)
    return answers.assign(reply=answers["reply"].mask(quoting, ""))
