"""The counts of the upstream files in docs/evidence/data-sets.md; these tests need a mirror."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tiltmeter.benchmarks.winobias import find_pronouns
from tiltmeter.datasets import DATASETS, load
from tiltmeter.datasets.dataset_definition import Source
from tiltmeter.datasets.file_fetcher import fetch_file
from tiltmeter.datasets.readers import validate_file
from tiltmeter.datasets.upstream_files import load_repositories
from tiltmeter.forms.association import AssociationItem
from tiltmeter.forms.multiple_choice import MultipleChoiceItem
from tiltmeter.forms.winobias import WinoBiasItem

LANGUAGES = ("en", "de", "fr", "es", "tr")
DUTCH = "jerryspan/Dutch-CrowS-Pairs/results"
NOT_MIRRORED = {
    "moinnadeem/StereoSet/data/dev.json",
    "kinit-sk/gest/data/gender_variants.csv",
    f"{DUTCH}/results_arlms/answers_arlms.csv",
    f"{DUTCH}/results_mlms/dutch_mlms/results_mbert.csv",
    f"{DUTCH}/results_mlms/dutch_mlms/results_robbert.csv",
    f"{DUTCH}/results_mlms/eng_mlms/results_roberta.csv",
    f"{DUTCH}/results_mlms/french_mlms/results_flaubert.csv",
}
# Repositories of which only some of the files are there.
PARTLY = (
    "nyu-mll/BBQ/",
    "Veranep/MBBQ/",
    "langtech-bsc/EsBBQ-CaBBQ/",
    "orai-nlp/BasqBBQ/",
    "shalakasatheesh/GG-BBQ/",
    "firminovitoria/stereoset-ptbr/predictions/",
    "moinnadeem/StereoSet/code/predictions/",
    "amazon-science/machine-translation-gender-eval/",
    "gabrielStanovsky/mt_gender/",
)


@pytest.fixture(autouse=True)
def _use_it(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))


def test_every_pinned_file_in_the_mirror_has_its_hash(mirror: Path) -> None:
    for repository in load_repositories().values():
        for file in repository.files.values():
            if (mirror / file.name).is_file():
                assert fetch_file(file) == mirror / file.name
            else:
                assert file.name in NOT_MIRRORED or file.name.startswith(PARTLY) or not file.pin.is_hash


# Rows of the released files of BBQ's relatives, by file; 16 of Gender_identity have no stereotype, and are left out.
QUESTIONS = {
    "mbbq": {"Disability_status": 1296, "Gender_identity": 544, "Physical_appearance": 1176, "Sexual_orientation": 152},
    "mbbq-control": {
        **{"Disability_status_control": 1296, "Gender_identity_control": 528},
        **{"Physical_appearance_control": 1176, "Sexual_orientation_control": 152},
    },
    "esbbq": {"Gender": 4832, "LGBTQIA": 2000, "Nationality": 504, "RaceEthnicity": 3716, "Religion": 648}
    | {"SpanishRegion": 988, "PhysicalAppearance": 3528},
    "cabbq": {"Gender": 4832, "LGBTQIA": 2000, "Nationality": 504, "Religion": 648, "SpanishRegion": 988},
    "kobbq": {"KoBBQ_test_samples": 2280},
    "gg-bbq": {"bbq_de_amb_test": 484, "bbq_de_disamb_test": 484},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_files_of_questions(name: str) -> None:
    for source in DATASETS[name].sources:
        if not source.is_local() or source.language in ("nl", "tr"):
            continue  # those two have the items of English: see the next test
        examination = source.load()
        codes = Counter(finding.code for finding in examination.findings)
        stem = source.fetch_files()[0].name.split(".")[0].removesuffix(f"_{source.language}")
        assert len(examination.items) + len(examination.left_out) == QUESTIONS[name][stem]
        assert codes["contradictory-roles"] == (4 if (name, stem) == ("esbbq", "PhysicalAppearance") else 0)
        assert codes["unclear-stereotype"] == (16 if stem == "Gender_identity" else 0)
        assert codes["same-answers"] == 0
        items = [item for item in examination.items if isinstance(item, MultipleChoiceItem)]
        sides = Counter(item.correct for item in items if item.part == "disambiguated")
        assert set(sides) <= {"stereotype", "anti-stereotype"}


def test_the_languages_of_mbbq_have_the_same_items() -> None:
    keys = {}
    for source in DATASETS["mbbq"].sources:
        if source.is_local():
            items = [item for item in source.validate().items if isinstance(item, MultipleChoiceItem)]
            found = {item.id: (item.part, item.polarity, item.template) for item in items}
            keys.setdefault(source.fetch_files()[0].name.removesuffix(f"_{source.language}.jsonl"), []).append(found)
    for tables in keys.values():
        assert all(table == tables[0] for table in tables)


def counts(source: Source) -> Counter[str]:
    examination = source.validate()
    examination.require_valid_items()
    return Counter(finding.code for finding in examination.findings)


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_ten_stereoset_files_load(language: str) -> None:
    intra, inter = load("stereoset", "intrasentence", language), load("stereoset", "intersentence", language)
    assert len(intra) == (2103 if language == "de" else 2106)
    assert len(inter) == 2123
    for item in (*intra, *inter):
        assert isinstance(item, AssociationItem)
        assert item.language == language
    targets = {item.target for item in (*intra, *inter) if isinstance(item, AssociationItem)}
    assert len(targets) == 79


def test_the_languages_share_ids_roles_and_targets() -> None:
    english = {item.id: item for item in load("stereoset", None, "en")}
    for language in LANGUAGES[1:]:
        for item in load("stereoset", None, language):
            assert isinstance(item, AssociationItem)
            other = english[item.id]
            assert isinstance(other, AssociationItem)
            assert (item.part, item.bias_type, item.target) == (other.part, other.bias_type, other.target)
            assert [(c.id, c.role) for c in item.candidates] == [(c.id, c.role) for c in other.candidates]


def test_the_three_items_that_german_does_not_have() -> None:
    english, german = ({item.id for item in load("stereoset", "intrasentence", language)} for language in ("en", "de"))
    assert {id_[:8] for id_ in english - german} == {"50c90b81", "addb7a3a", "de204ffe"}


@pytest.mark.parametrize(
    ("part", "language", "expected"),
    [
        (
            "intrasentence",
            "en",
            {
                "several-blanks": 2,
                "sentence-case": 2373,
                "sentence-differs": 12,
                "attached-blank": 1,
                "odd-space": 76,
                "duplicate-context": 40,
            },
        ),
        (
            "intrasentence",
            "de",
            {"several-blanks": 2, "target-not-in-context": 5, "attached-blank": 9, "duplicate-context": 47},
        ),
        (
            "intrasentence",
            "fr",
            {
                "several-blanks": 2,
                "identical-candidates": 2,
                "target-not-in-context": 372,
                "attached-blank": 1,
                "odd-space": 144,
                "duplicate-context": 46,
            },
        ),
        (
            "intrasentence",
            "es",
            {
                "several-blanks": 2,
                "identical-candidates": 4,
                "target-not-in-context": 520,
                "odd-space": 4,
                "duplicate-context": 51,
            },
        ),
        (
            "intrasentence",
            "tr",
            {
                "several-blanks": 2,
                "identical-candidates": 13,
                "target-not-in-context": 427,
                "attached-blank": 17,
                "duplicate-context": 45,
            },
        ),
        ("intersentence", "en", {"blank-in-sentence": 2, "odd-space": 35, "duplicate-context": 8}),
        ("intersentence", "de", {"blank-in-sentence": 2, "target-not-in-context": 5, "duplicate-context": 14}),
        (
            "intersentence",
            "fr",
            {"blank-in-sentence": 2, "target-not-in-context": 333, "odd-space": 100, "duplicate-context": 16},
        ),
        ("intersentence", "es", {"blank-in-sentence": 2, "target-not-in-context": 496, "duplicate-context": 13}),
        ("intersentence", "tr", {"blank-in-sentence": 2, "target-not-in-context": 455, "duplicate-context": 9}),
    ],
)
def test_the_warnings_that_the_documentation_counts(part: str, language: str, expected: dict[str, int]) -> None:
    [source] = DATASETS["stereoset"].select(part, [language])
    assert counts(source) == expected


def test_words_derived_from_sentences_are_those_of_the_released_frame(tmp_path: Path) -> None:
    items = load("stereoset", "intrasentence", "en")
    examples = [
        {
            "id": item.id,
            "target": item.target,
            "bias_type": item.bias_type,
            "context": item.context,
            "sentences": [{"id": c.id, "sentence": c.sentence, "gold_label": c.role} for c in item.candidates],
        }
        for item in items
        if isinstance(item, AssociationItem)
    ]
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"data": {"intrasentence": examples}}), encoding="utf-8")
    derived = validate_file(path, "stereoset-json", "en").require_valid_items()
    # In four items letters are attached to BLANK, and the released rule includes them in the word.
    different = {item.id[:8] for item, other in zip(items, derived, strict=True) if item != other}
    assert different == {"6bdda34d", "c1a16945", "192dbaee", "1c8fa086"}


@pytest.mark.parametrize("language", DATASETS["gender-pairs"].languages)
def test_gender_pairs_load(language: str) -> None:
    items = load("gender-pairs", None, language)
    assert len(items) == 212
    assert {item.id for item in items} == {item.id for item in load("gender-pairs", None, "en")}


@pytest.mark.parametrize(
    ("name", "language", "expected"),
    [
        ("crows-pairs", "en", {"wide-difference": 55}),
        ("gender-pairs", "ar", {"wide-difference": 105, "nothing-shared": 1}),
        ("gender-pairs", "de", {"wide-difference": 17}),
        ("gender-pairs", "id", {"wide-difference": 5, "identical-pair": 1}),
        ("gender-pairs", "th", {}),
        ("gender-pairs", "zh", {}),
    ],
)
def test_the_faults_of_pairs_that_can_be_found(name: str, language: str, expected: dict[str, int]) -> None:
    [source] = DATASETS[name].select(None, [language])
    warning_counts = counts(source)
    assert {
        code: warning_counts[code]
        for code in ("wide-difference", "nothing-shared", "identical-pair")
        if warning_counts[code]
    } == expected


def test_crows_pairs_and_gest_load() -> None:
    assert len(load("crows-pairs", None, "en")) == 1508
    assert len(load("gest", None, "en")) == 3565
    assert len(load("gest-1.0", None, "en")) == 3565


def test_winobias_loads_and_pronouns_tell_the_gender_of_occupations(mirror: Path) -> None:
    folder = mirror / "uclanlp/corefBias/WinoBias/wino/data"
    lists = {gender: (folder / f"{gender}_occupations.txt").read_text().lower() for gender in ("male", "female")}
    noise = 0
    for part in DATASETS["winobias"].parts:
        items = [item for item in load("winobias", part, "en") if isinstance(item, WinoBiasItem)]
        assert Counter(item.gender for item in items) == {"male": 198, "female": 198}
        noise += sum(find_pronouns(item) is None for item in items)
        for item in items:
            if find_pronouns(item) is not None:
                assert item.occupation.lower() in lists[item.gender]
    assert noise == 20
