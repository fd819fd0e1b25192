"""Definition of the data set WinoMT."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import BINARY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset

ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "gabrielStanovsky/mt_gender",
        "winomt",
        "winomt",
        "WinoMT: sentences about two people, one of known gender, for translation systems",
        (
            BINARY + "; the 240 sentences with *they* count as neutral, and most languages have no neutral noun",
            "stereotypes are defined by American labour statistics",
            "nouns are found by word alignment, which makes errors; the gender of nouns is found by rules, which exist "
            "for some languages only",
            "six sentences occur twice, and one has a double space",
            "in some languages, a masculine noun is also the usual word for a woman; for a woman, it counts as wrong",
        ),
        (("en", None, "winomt", "data/aggregates/en.txt"),),
        companions=lambda path: (path.replace("en.txt", "en_pro.txt"), path.replace("en.txt", "en_anti.txt")),
        items={"en": 3888},
    ),
)
