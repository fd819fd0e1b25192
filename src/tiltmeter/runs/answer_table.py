"""The columns of the answers of chat models."""

import pyarrow as pa

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
