"""Definitions of the two data sets of discrim-eval: decisions about people, from the Hugging Face Hub."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset

_REPOSITORY = "Anthropic/discrim-eval"
_LIMITS = (
    "the scenarios are American and were written by a language model",
    "some texts of a scenario differ in more than the group",
    "only chat models can be measured; the answer is read from the text, not from its probability as in the paper",
    "the reader was not tried on the real files",
)

ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        _REPOSITORY,
        "discrim-eval",
        "own-prompts",
        "yes/no decisions about a person whose age, gender and race are stated, in 70 scenarios",
        _LIMITS,
        [("en", None, "discrim-eval", "explicit.jsonl")],
    ),
    build_upstream_dataset(
        _REPOSITORY,
        "discrim-eval-names",
        "own-prompts",
        "the decisions of discrim-eval, with a first name that suggests gender and race",
        _LIMITS,
        [("en", None, "discrim-eval", "implicit.jsonl")],
    ),
)
