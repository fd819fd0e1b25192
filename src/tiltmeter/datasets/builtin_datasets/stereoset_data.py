"""Definitions of the data sets StereoSet and its translations."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import AMERICAN, FAULTY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.forms.association import PARTS

ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "slds-lmu/stereotypes-multi",
        "stereoset",
        "association",
        "StereoSet in five languages, machine-translated from English and partly corrected by hand",
        (
            FAULTY,
            AMERICAN,
            "texts were translated without their contexts: in hundreds of items, the translated context does not "
            "contain the translated target",
            "the German intrasentence part has 2,103 of the 2,106 items",
        ),
        (
            (language, part, "stereoset-pickle", f"create_dataset/data/{part}/df_{part}_{language}.pkl")
            for language in ("en", "de", "fr", "es", "tr")
            for part in PARTS
        ),
        PARTS,
        items={"en": 4229, "de": 4226, "fr": 4229, "es": 4229, "tr": 4229},
    ),
    build_upstream_dataset(
        "moinnadeem/StereoSet",
        "stereoset-original",
        "association",
        "the development set of StereoSet as first published",
        (FAULTY, AMERICAN, "the test set was never published"),
        [("en", None, "stereoset-json", "data/dev.json")],
        PARTS,
        items={"en": 4229},
    ),
    build_upstream_dataset(
        "firminovitoria/stereoset-ptbr",
        "stereoset-ptbr",
        "association",
        "StereoSet in Brazilian Portuguese, translated by a language model",
        (
            FAULTY,
            AMERICAN,
            "each sentence was translated separately: in only 779 of the 2,106 intrasentence items, the sentences are "
            "the context with a word filled in, so complete sentences are scored (protocol whole-sentence)",
            "41 intersentence contexts and candidates still contain BLANK",
            "the targets have English names",
        ),
        [("pt-BR", None, "stereoset-json-whole", "data/dev_ptbr.json")],
        PARTS,
        items={"pt-BR": 4229},
    ),
)
