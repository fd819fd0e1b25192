"""What Öztürk (2022) and Öztürk et al. (2023) say in their text of the StereoSet data, recomputed from the files."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tiltmeter.datasets.readers.dataframe_pickle import read_columns
from tiltmeter.papers.sources.oeztuerk import REPOSITORY
from tiltmeter.papers.sources.recipe import Key, Numbers
from tiltmeter.papers.sources.recipe_context import RecipeContext

# Part and edition of the data, by what the text is about.
FRAMES = {
    "intersentence": ("intersentence", "en"),
    "intrasentence": ("intrasentence", "en"),
    "German intersentence": ("intersentence", "de"),
    "German intrasentence": ("intrasentence", "de"),
    "German intersentence, before repair": ("intersentence", "de_v1_0"),
    "German intrasentence, before repair": ("intrasentence", "de_v2_0"),
}


@dataclass(frozen=True, slots=True)
class StereosetFacts:
    """A frame of items."""

    part: str
    edition: str

    @property
    def name(self) -> str:
        """The file."""
        return _get_path(self.part, self.edition)

    def numbers(self, desk: RecipeContext) -> Numbers:
        """Counts of items, terms, contexts, columns and characters."""
        frame = _read_frame(desk, self.part, self.edition)
        terms = Counter(frame.get("target_original", frame["target"]))
        texts = ("sentence", "word")[self.part == "intrasentence"]
        characters = sum(
            len(str(text)) for name in ("context", *(f"c{n}_{texts}" for n in "123")) for text in frame[name]
        )
        unnamed = sum(
            str(target).casefold() not in str(context).casefold()
            for target, context in zip(frame["target"], frame["context"], strict=True)
        )
        numbers: dict[Key, float] = {
            ("items",): len(frame["id"]),
            ("columns of the frame",): len(frame),
            ("different contexts",): len(set(frame["context"])),
            ("target terms",): len(terms),
            ("most items of a term",): max(terms.values()),
            ("fewest items of a term",): min(terms.values()),
            ("characters of contexts and candidates",): characters,
            ("characters with target terms",): characters + sum(map(len, map(str, frame["target"]))),
            ("items whose target term is not in the context",): unnamed,
        }
        numbers |= {(f"items about {bias_type}",): count for bias_type, count in Counter(frame["bias_type"]).items()}
        if self.edition != "en":
            english = _read_frame(desk, self.part, "en")
            numbers["items fewer than in English",] = len(english["id"]) - len(frame["id"])
        return {key: float(number) for key, number in numbers.items()}


def _read_frame(desk: RecipeContext, part: str, edition: str) -> dict[str, list[Any]]:
    return desk.compute_once(read_columns, desk.fetch(REPOSITORY, _get_path(part, edition)))


def _get_path(part: str, edition: str) -> str:
    """The path of a frame.

    >>> _get_path("intersentence", "en")
    'create_dataset/data/intersentence/df_intersentence_en.pkl'
    """
    return f"create_dataset/data/{part}/df_{part}_{edition}.pkl"
