"""The data set, which is a file of this package."""

from pathlib import Path

from tiltmeter.datasets import Dataset
from tiltmeter.datasets.dataset_definition import Source

DATASET = Dataset(
    "blanks",
    "blanks",
    "Sentences with a blank, an example",
    "CC0-1.0",
    "No citation: an example.",
    "The sentences contain mild stereotypes.",
    ("Invented, and few.",),
    (Source("en", None, "jsonl", Path(__file__).with_name("blanks.jsonl")),),
)
