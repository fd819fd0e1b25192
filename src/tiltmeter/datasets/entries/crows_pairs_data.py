"""CrowS-Pairs and its translations."""

from tiltmeter.datasets.description import Dataset
from tiltmeter.datasets.entries.entry import AMERICAN, FAULTY, upstream_dataset

ENTRIES: tuple[Dataset, ...] = (
    upstream_dataset(
        "VSteinborn/s_jsd-multilingual-bias",
        "gender-pairs",
        "pairs",
        "212 gender pairs of CrowS-Pairs, edited and translated by people into nine languages",
        (AMERICAN, "212 pairs tell only large differences apart"),
        (
            (language, None, "pairs-csv", f"data/cps_translated_{language}_formatted.csv")
            for language in ("en", "de", "fi", "fr", "id", "th", "ko", "vi", "zh", "ar")
        ),
        items=dict.fromkeys(("en", "de", "fi", "fr", "id", "th", "ko", "vi", "zh", "ar"), 212),
    ),
    upstream_dataset(
        "nyu-mll/crows-pairs",
        "crows-pairs",
        "pairs",
        "CrowS-Pairs: 1,508 pairs about nine kinds of bias",
        (
            FAULTY,
            "its own page warns that it is so noisy that it may not indicate well whether a model is biased",
            "its authors ask that it not be used to call a model free of bias",
            AMERICAN,
        ),
        [("en", None, "crows-csv", "data/crows_pairs_anonymized.csv")],
        items={"en": 1508},
    ),
)
