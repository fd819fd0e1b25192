"""GEST."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import BINARY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.forms.gest import TEMPLATES

ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "kinit-sk/gest",
        "gest",
        "gest",
        "GEST, edition 1.1: 3,565 sentences for sixteen gender stereotypes, 244 of them corrected since 1.0",
        (BINARY, "the published results are for edition 1.0"),
        [("en", None, "gest-csv", "data/gest_1.1.csv")],
        TEMPLATES,
        items={"en": 3565},
    ),
    build_upstream_dataset(
        "kinit-sk/gest",
        "gest-1.0",
        "gest",
        "GEST, edition 1.0: what the published results were made with",
        (BINARY, "some sentences have slips that edition 1.1 corrects"),
        [("en", None, "gest-csv", "data/gest.csv")],
        TEMPLATES,
        items={"en": 3565},
    ),
    build_upstream_dataset(
        "kinit-sk/gest",
        "gest-pairs",
        "gendered-pairs",
        "GEST's sentences in nine Slavic languages, each as a man and as a woman would say it",
        (
            BINARY,
            "machine translations, paired by rule: some pairs differ in more than gender",
            "which pairs are asked depends on the model's tokenizer, so models are not asked the same ones",
        ),
        (
            (language, None, "gest-pairs-csv", "data/gender_variants.csv")
            for language in ("be", "cs", "hr", "pl", "ru", "sk", "sl", "sr", "uk")
        ),
    ),
)
