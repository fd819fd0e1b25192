"""Definitions of the data sets of GEST."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import BINARY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.forms.gest import TEMPLATES

ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "kinit-sk/gest",
        "gest",
        "gest",
        "GEST, edition 1.1: 3,565 sentences for sixteen gender stereotypes; 244 sentences of edition 1.0 are corrected",
        (BINARY, "the published results are for edition 1.0"),
        [("en", None, "gest-csv", "data/gest_1.1.csv")],
        TEMPLATES,
        items={"en": 3565},
    ),
    build_upstream_dataset(
        "kinit-sk/gest",
        "gest-1.0",
        "gest",
        "GEST, edition 1.0: the edition of the published results",
        (BINARY, "some sentences have errors that edition 1.1 corrects"),
        [("en", None, "gest-csv", "data/gest.csv")],
        TEMPLATES,
        items={"en": 3565},
    ),
    build_upstream_dataset(
        "kinit-sk/gest",
        "gest-pairs",
        "gendered-pairs",
        "sentences of GEST in nine Slavic languages, as said by a man and by a woman",
        (
            BINARY,
            "the pairs are machine translations, selected by rules: some pairs differ in more than gender",
            "the pairs used for a model depend on its tokenizer, so models are not compared on the same pairs",
        ),
        (
            (language, None, "gest-pairs-csv", "data/gender_variants.csv")
            for language in ("be", "cs", "hr", "pl", "ru", "sk", "sl", "sr", "uk")
        ),
    ),
)
