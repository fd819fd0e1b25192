"""Recipes for numbers about the StereoSet data in the text of Öztürk (2022) and Öztürk et al. (2023)."""

from collections import Counter
from typing import Any

from tiltmeter.datasets.readers.dataframe_pickle import read_columns
from tiltmeter.papers.sources.oeztuerk import REPOSITORY
from tiltmeter.papers.sources.recipe import Key, Numbers, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext

# Maps each name of a data file in text.csv to the part and the edition in the name of the released file. The edition is
# a language, followed by the version if the file is not of the latest version.
FRAMES = {
    "intersentence": ("intersentence", "en"),
    "intrasentence": ("intrasentence", "en"),
    "German intersentence": ("intersentence", "de"),
    "German intrasentence": ("intrasentence", "de"),
    "German intersentence, before repair": ("intersentence", "de_v1_0"),
    "German intrasentence, before repair": ("intrasentence", "de_v2_0"),
}


def build_recipe(part: str, edition: str) -> Recipe:
    """Return the recipe for the counts of one data file."""
    return Recipe(_get_path(part, edition), count_items, (part, edition))


def count_items(context: RecipeContext, part: str, edition: str) -> Numbers:
    """Return the counts of items, terms, contexts, columns and characters of one data file."""
    frame = _read_data_file(context, part, edition)
    terms = Counter(frame.get("target_original", frame["target"]))
    texts = ("sentence", "word")[part == "intrasentence"]
    characters = sum(len(str(text)) for name in ("context", *(f"c{n}_{texts}" for n in "123")) for text in frame[name])
    without_term = count_missing_targets(context, part, edition).total()
    numbers: dict[Key, float] = {
        ("items",): len(frame["id"]),
        ("columns of the frame",): len(frame),
        ("different contexts",): len(set(frame["context"])),
        ("target terms",): len(terms),
        ("most items of a term",): max(terms.values()),
        ("fewest items of a term",): min(terms.values()),
        ("characters of contexts and candidates",): characters,
        ("characters with target terms",): characters + sum(map(len, map(str, frame["target"]))),
        ("items whose target term is not in the context",): without_term,
    }
    numbers |= {(f"items about {bias_type}",): count for bias_type, count in Counter(frame["bias_type"]).items()}
    if edition != "en":
        english = _read_data_file(context, part, "en")
        numbers["items fewer than in English",] = len(english["id"]) - len(frame["id"])
    return {key: float(number) for key, number in numbers.items()}


def count_missing_targets(context: RecipeContext, part: str, edition: str) -> Counter[str]:
    """Return, for each target term of one data file, the number of items whose context lacks the term."""
    frame = _read_data_file(context, part, edition)
    return Counter(
        str(target)
        for target, sentence in zip(frame["target"], frame["context"], strict=True)
        if str(target).casefold() not in str(sentence).casefold()
    )


def _read_data_file(context: RecipeContext, part: str, edition: str) -> dict[str, list[Any]]:
    return context.compute_once(read_columns, context.fetch_file(REPOSITORY, _get_path(part, edition)))


def _get_path(part: str, edition: str) -> str:
    """Return the path of a data file.

    >>> _get_path("intersentence", "en")
    'create_dataset/data/intersentence/df_intersentence_en.pkl'
    """
    return f"create_dataset/data/{part}/df_{part}_{edition}.pkl"
