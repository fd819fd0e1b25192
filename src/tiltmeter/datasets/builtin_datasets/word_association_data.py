"""Definitions of the data sets of the word association test for chat models (Bai et al. 2025)."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import BINARY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset

_REPOSITORY = "baixuechunzi/llm-implicit-bias"
_ALONE = "only chat models can be measured"

ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        _REPOSITORY,
        "word-association",
        "word-association",
        "LLM Word Association Test: words and groups of 21 stereotypes about race, gender, religion, health and age",
        ("the words and groups are American", BINARY, _ALONE, "many words occur in several tests"),
        [("en", None, "iat-stimuli", "stimuli/iat_stimuli.csv")],
        items={"en": 788},
    ),
    build_upstream_dataset(
        _REPOSITORY,
        "word-association-synonyms",
        "word-association",
        "the word association test with a similar word in place of each word",
        ("the words and groups are American", BINARY, _ALONE, "some similar words are rare or occur in several tests"),
        [("en", None, "iat-synonyms", "stimuli/iat_stimuli_synonym.csv")],
        items={"en": 788},
    ),
)
