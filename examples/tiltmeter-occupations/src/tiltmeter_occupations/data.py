"""The data set: a file in this package."""

from pathlib import Path

from tiltmeter.datasets import Dataset
from tiltmeter.datasets.dataset_definition import Source

DATASET = Dataset(
    "occupations",
    "occupations",
    "Sentences about occupations, an example",
    "CC0-1.0",
    "No citation: an example.",
    "The sentences contain mild stereotypes.",
    ("Made up, and few; the percentages are invented.",),
    (Source("en", None, "jsonl", Path(__file__).with_name("occupations.jsonl")),),
)
