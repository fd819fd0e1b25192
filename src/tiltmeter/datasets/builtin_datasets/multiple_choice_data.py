"""Definitions of BBQ and related data sets: multiple-choice questions about two people."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import AMERICAN, BINARY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.forms.multiple_choice import PARTS

FORM = "multiple-choice"
_TEMPLATED = "items are made from few templates, so thousands of items give little more information than hundreds"
_BBQ = (
    *("Age", "Disability_status", "Gender_identity", "Nationality", "Physical_appearance", "Race_ethnicity"),
    *("Race_x_SES", "Race_x_gender", "Religion", "SES", "Sexual_orientation"),
)
_MBBQ = ("Age", "Disability_status", "Gender_identity", "Physical_appearance", "SES", "Sexual_orientation")
_MBBQ_LANGUAGES = ("en", "es", "nl", "tr")
_ESBBQ = (
    *("Age", "DisabilityStatus", "Gender", "LGBTQIA", "Nationality", "PhysicalAppearance"),
    *("RaceEthnicity", "Religion", "SES", "SpanishRegion"),
)
_BASQBBQ = (
    *("Adin", "Arraza_etnizitate", "Ezgaitasun_egoera", "Genero_identitate", "Itxura_fisikoa"),
    *("MSE", "Nazionalitate", "Orientazio_sexual"),
)
_PLACEHOLDER = "the files have a placeholder for the answer *unknown*; it is replaced by one of five wordings"


def _build_spanish_dataset(name: str, language: str, title: str, items: int, left_out: int) -> Dataset:
    return build_upstream_dataset(
        "langtech-bsc/EsBBQ-CaBBQ",
        name,
        FORM,
        f"{title}: 323 templates in ten categories, for the social context of Spain",
        (_PLACEHOLDER, _TEMPLATED, f"{left_out} rows whose question_type contradicts their label are left out"),
        ((language, None, "esbbq-csv", f"data_{language}/{category}.full.csv") for category in _ESBBQ),
        PARTS,
        items={language: items},
    )


def _build_german_dataset(
    name: str, description: str, limits: tuple[str, ...], folder: str, middle: str, items: int
) -> Dataset:
    files = (("amb", PARTS[0]), ("disamb", PARTS[1]))
    return build_upstream_dataset(
        "shalakasatheesh/GG-BBQ",
        name,
        FORM,
        description,
        (*limits, "the files do not name templates; items with the same question count as one template"),
        (("de", part, "gg-bbq-jsonl", f"data/{folder}/bbq_de_{middle}{short}_test.jsonl") for short, part in files),
        PARTS,
        items={"de": items},
    )


ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "nyu-mll/BBQ",
        "bbq",
        FORM,
        "BBQ: questions about two people in nine categories and two combinations of categories",
        (
            "the stereotypes are American",
            _TEMPLATED,
            "16 rows without a stereotype in BBQ's metadata are left out",
            "the released script does not reproduce all numbers of the paper (nyu-mll/BBQ#12)",
        ),
        (("en", None, "bbq-jsonl", f"data/{category}.jsonl") for category in _BBQ),
        PARTS,
        companions=lambda _path: ("analysis_scripts/additional_metadata.csv",),
        items={"en": 58_476},
    ),
    build_upstream_dataset(
        "Veranep/MBBQ",
        "mbbq",
        FORM,
        "MBBQ: stereotypes of BBQ that are common in four languages, translated and checked by hand",
        (
            AMERICAN,
            _TEMPLATED,
            "16 rows in each language are left out, because both people are male or both are female",
            "the released code counts every answer that names the stereotyped group as biased, for negative and "
            "non-negative questions",
        ),
        (
            (language, None, "mbbq-jsonl", f"data/{category}_{language}.jsonl")
            for language in _MBBQ_LANGUAGES
            for category in _MBBQ
        ),
        PARTS,
        items=dict.fromkeys(_MBBQ_LANGUAGES, 10_072),
        control=("mbbq-control",),
    ),
    build_upstream_dataset(
        "Veranep/MBBQ",
        "mbbq-control",
        FORM,
        "the control set of MBBQ: the same questions about people who are only described by their first names",
        (_TEMPLATED, "which of the two names counts as the stereotypical answer is arbitrary"),
        (
            (language, None, "mbbq-jsonl", f"data/{category}_control_{language}.jsonl")
            for language in _MBBQ_LANGUAGES
            for category in _MBBQ
        ),
        PARTS,
        items=dict.fromkeys(_MBBQ_LANGUAGES, 10_072),
        why_control="in the control, the people differ only in their first names",
    ),
    _build_spanish_dataset("esbbq", "es", "EsBBQ, in Spanish", 27_316, left_out=4),
    _build_spanish_dataset("cabbq", "ca", "CaBBQ, in Catalan", 27_332, left_out=12),
    build_upstream_dataset(
        "naver-ai/KoBBQ",
        "kobbq",
        FORM,
        "the test set of KoBBQ: stereotypes of Korean society in twelve categories, one or two texts per template",
        ("the answer *unknown* always has the same words",),
        [("ko", None, "kobbq-tsv", "data/KoBBQ_test_samples.tsv")],
        PARTS,
        items={"ko": 2_280},
    ),
    build_upstream_dataset(
        "naver-ai/KoBBQ",
        "kobbq-all",
        FORM,
        "KoBBQ: all samples of its templates",
        (_TEMPLATED, "the file is pinned only by its commit, because its hash is not known"),
        [("ko", None, "kobbq-tsv", "data/KoBBQ_all_samples.tsv")],
        PARTS,
        items={"ko": 76_048},
    ),
    build_upstream_dataset(
        "orai-nlp/BasqBBQ",
        "basqbbq",
        FORM,
        "BasqBBQ: templates of BBQ for Basque society, in eight categories",
        (_TEMPLATED, "the two files of Arraza_etnizitate are pinned only by their commit"),
        (
            ("eu", part, "basqbbq-jsonl", f"data/BasqBBQ/{category}_{short}.jsonl")
            for category in _BASQBBQ
            for short, part in (("ambig", PARTS[0]), ("disambig", PARTS[1]))
        ),
        PARTS,
    ),
    _build_german_dataset(
        "gg-bbq",
        "GG-BBQ: the questions of BBQ about gender, in German",
        (
            AMERICAN,
            BINARY,
            "only 288 of the 484 ambiguous items are different; the other items repeat these items, and repeated items "
            "form a cluster",
        ),
        "subset-1",
        "",
        968,
    ),
    _build_german_dataset(
        "gg-bbq-names",
        "GG-BBQ, second part: questions with first names of men, women and transgender people",
        (AMERICAN, BINARY, "the released files have more items than the paper describes"),
        "subset-2",
        "proper_names_",
        10_900,
    ),
)
