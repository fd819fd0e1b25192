"""The readers of EuroGEST, on small files of its layout. The sentences are ours."""

import csv
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets.readers import validate_file
from tiltmeter.errors import DataError
from tiltmeter.forms.gendered_pairs import GenderedPairItem
from tiltmeter.forms.gest import GestItem

LANGUAGES = ["German", "Catalan", "Spanish", "Portuguese", "Czech"]
NEUTRAL = [
    ["", "GEST_sentence", *LANGUAGES, "stereotype_number"],
    ["0", "I like soup.", "Ich mag Suppe", "", "Me gusta la sopa.", "Gosto de sopa", " Mám rád knedlíky! ", "9.0"],
    ["1", "I sing.", "", "Canto", "", "", "", "3.0"],
    ["2", *[""] * 6, ""],
]
SCAFFOLDS = [
    ["", *LANGUAGES],
    ["he said", "sagte er", "va dir", "dijo", "disse ele ", "řekl"],
    ["she said", "sagte sie", "va dir ella", "dijo", "disse ela", "řekla"],
    ["the man said", "sagte der Mann", "va dir l'home", "dijo el hombre", "disse o homem", "řekl muž"],
    ["the woman said", "sagte die Frau", "va dir la dona", "dijo la mujer", "disse a mulher", "řekla žena"],
]
PAIRED = [
    ["Language", "GEST_sentence", "French", "French", "Slovak", "Slovak", "stereotype_number"],
    ["Prompt", "Unnamed", "the man said", "the woman said", "the man said", "the woman said", ""],
    ["0", "I am glad.", " Je suis content. ", " Je suis contente. ", "", "", "9"],
    ["1", "I was at home.", "", "", "Bol som doma", "Bola som doma", "3"],
    ["2", *[""] * 5, ""],
]


def write(folder: Path, rows: list[list[str]], name: str) -> Path:
    path = folder / name
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def neutral(
    folder: Path, rows: list[list[str]] = NEUTRAL, scaffolds: list[list[str]] | None = SCAFFOLDS, language: str = "de"
) -> list[GestItem]:
    path = write(folder, rows, "neutral.csv")
    if scaffolds is not None:
        write(folder, scaffolds, "prompt_scaffolds.csv")
    return validate_file(path, "eurogest-sentences", language).require_valid_items()  # type: ignore[return-value]


def test_a_sentence_comes_with_the_frames_of_its_language(tmp_path: Path) -> None:
    assert neutral(tmp_path) == [
        GestItem(
            "0",
            "de",
            9,
            "Ich mag Suppe",
            original="I like soup.",
            male_frame="„{sentence}“, sagte er.",
            female_frame="„{sentence}“, sagte sie.",
        )
    ]


def test_english_is_the_original(tmp_path: Path) -> None:
    items = neutral(tmp_path, language="en")
    assert [(item.id, item.sentence, item.original) for item in items] == [
        ("0", "I like soup", ""),
        ("1", "I sing", ""),
    ]
    assert items[0].male_frame == '"{sentence}", he said.'


@pytest.mark.parametrize(
    ("language", "male", "female"),
    [
        ("es", "“{sentence}”, dijo el hombre.", "“{sentence}”, dijo la mujer."),  # he said is she said
        ("ca", '"{sentence}", va dir l\'home.', '"{sentence}", va dir la dona.'),  # he said has no word for a man
        ("pt", '"{sentence}", disse ele.', '"{sentence}", disse ela.'),  # the quotation is closed
        ("cs", '"{sentence}," řekl.', '"{sentence}," řekla.'),  # verbs tell, without pronouns
    ],
)
def test_frames_distinguish_men_from_women(language: str, male: str, female: str, tmp_path: Path) -> None:
    (item,) = neutral(tmp_path, language=language)
    assert (item.male_frame, item.female_frame) == (male, female)
    assert item.sentence[-1].isalpha()  # final marks and spaces go: the frame has its own


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"scaffolds": None}, ["needs", "prompt_scaffolds.csv"]),
        ({"language": "fi"}, ["column Finnish", "prompt_scaffolds.csv"]),
        ({"language": "ja"}, ["language 'ja'", "bg, ca"]),
        ({"scaffolds": SCAFFOLDS[:3], "language": "es"}, ["prompt_scaffolds.csv", "women in es"]),
        ({"rows": [NEUTRAL[0][:-1]]}, ["no column stereotype_number"]),
        ({"rows": [*NEUTRAL, ["3", "too short"]]}, ["line 5: has 2 values", "header has 8"]),
        ({"rows": [NEUTRAL[0], [*NEUTRAL[1][:-1], "x"]]}, ["line 2, stereotype_number: ", "'x'"]),
    ],
)
def test_invalid_files_of_sentences(change: dict[str, object], parts: list[str], tmp_path: Path) -> None:
    with raises_mentioning(DataError, *parts):
        neutral(tmp_path, **change)  # type: ignore[arg-type]


def pairs(folder: Path, rows: list[list[str]] = PAIRED, language: str = "fr") -> list[GenderedPairItem]:
    return validate_file(write(folder, rows, "pairs.csv"), "eurogest-pairs", language).require_valid_items()  # type: ignore[return-value]


def test_the_second_header_row_is_no_item(tmp_path: Path) -> None:
    assert pairs(tmp_path) == [
        GenderedPairItem("0", "fr", 9, "Je suis content.", "Je suis contente.", original="I am glad.")
    ]
    assert [item.id for item in pairs(tmp_path, language="sk")] == ["1"]


@pytest.mark.parametrize(
    ("rows", "language", "part"),
    [
        (PAIRED, "de", "two columns German"),
        ([*PAIRED[:2], ["0", "I am glad.", "Je suis content.", "", "", "", "9"]], "fr", "line 3, French: "),
        ([PAIRED[0][:-1]], "fr", "no column stereotype_number"),
        ([*PAIRED, ["x"]], "fr", "line 6: has 1 values"),
    ],
)
def test_invalid_files_of_pairs(rows: list[list[str]], language: str, part: str, tmp_path: Path) -> None:
    with raises_mentioning(DataError, part):
        pairs(tmp_path, rows, language)


def test_a_stray_quotation_mark_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path, PAIRED, "pairs.csv")
    path.write_text(path.read_text(encoding="utf-8") + '3,"open', encoding="utf-8")
    with raises_mentioning(DataError, str(path), "not CSV"):
        validate_file(path, "eurogest-pairs", "fr").require_valid_items()
