"""Reading and building gendered pairs. The sentences are ours."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets import load_file
from tiltmeter.datasets.gest_pair_builder import (
    NO_GENDER,
    NOT_PROMPTED,
    NOT_TRANSLATED,
    build_pairs,
    extract_quoted_speech,
    read_translations,
)
from tiltmeter.datasets.readers import validate_file
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.errors import DataError
from tiltmeter.forms.gendered_pairs import (
    NOT_ONE_WORD,
    OTHER_LETTER,
    REPEATED_PAIR,
    GenderedPairItem,
    find_rejection_reason,
)
from tiltmeter.forms.gest import GestItem

RELEASED = """translator,language,original,stereotype,male,female
DeepL,sk,I was at home.,4,Bol som doma.,Bola som doma.
DeepL,cs,I was at home.,4,Byl jsem doma.,Byla jsem doma.
,sk,"I sang, too.",5,"Spieval som, tiež.","Spievala som, tiež."
"""


def test_the_released_file_is_read_language_by_language(tmp_path: Path) -> None:
    path = tmp_path / "gender_variants.csv"
    path.write_text(RELEASED, encoding="utf-8")
    slovak = validate_file(path, "gest-pairs-csv", "sk").require_valid_items()
    assert slovak == [
        GenderedPairItem("0", "sk", 4, "Bol som doma.", "Bola som doma.", "I was at home.", "DeepL"),
        GenderedPairItem("2", "sk", 5, "Spieval som, tiež.", "Spievala som, tiež.", "I sang, too."),
    ]
    assert [item.id for item in validate_file(path, "gest-pairs-csv", "cs").require_valid_items()] == ["1"]
    with raises_mentioning(DataError, str(path), "no items"):
        validate_file(path, "gest-pairs-csv", "pl").require_valid_items()
    write_jsonl(slovak, tmp_path / "sk.jsonl")
    assert load_file(tmp_path / "sk.jsonl") == slovak


@pytest.mark.parametrize(
    ("male", "female", "reason"),
    [
        ("Bol som doma.", "Bola som doma.", None),
        ("Bol som doma.", "Bol som doma.", NOT_ONE_WORD),
        ("Bol som rád doma.", "Bola som rada doma.", NOT_ONE_WORD),
        ("Bol som doma.", "Bola som dnes doma.", NOT_ONE_WORD),
        ("Rád by som spal.", "Chcela by som spal.", OTHER_LETTER),
        ("bol som doma.", "Bola som doma.", OTHER_LETTER),
    ],
)
def test_reasons_for_rejection(male: str, female: str, reason: str | None) -> None:
    assert find_rejection_reason(male, female) == reason


@pytest.mark.parametrize(
    ("translation", "sentence", "expected"),
    [
        ("Žena povedala: „Bola som doma.“", "I was at home.", "Bola som doma."),
        ('Žena povedala: "Bola som doma".', "I was at home.", "Bola som doma."),
        ("Жінка сказала: «Я була вдома».", "I was at home.", "Я була вдома."),
        ("Rekla je: »Bila sem doma.«", "I was at home.", "Bila sem doma."),
        ("Kobieta powiedziała: „Byłam w domu.", "I was at home.", "Byłam w domu."),
        ("Žena povedala: Bola som doma?", "Was I at home?", "Bola som doma?"),
        ("Žena: Bola som doma", "I was at home", "Bola som doma"),
        ("Bola som doma.", "I was at home.", "Bola som doma."),
    ],
)
def test_the_quoted_speech_of_a_prompt(translation: str, sentence: str, expected: str) -> None:
    assert extract_quoted_speech(translation, sentence) == expected


SENTENCES = [
    GestItem(str(number), "en", 1 + number, sentence)
    for number, sentence in enumerate(
        (
            "I was at home.",  # a pair, from a masculine default
            "I sang.",  # a pair, from a feminine default and another prompt
            "I have a garden.",  # no gender marked
            "I slept.",  # no prompt for the other gender
            "I was there and ate.",  # two words
            "I would like to sleep.",  # another word
            "I have been at home.",  # a duplicate pair
            "I never was translated.",
            "I was tired.",  # the first prompt fails, the second does not
        )
    )
]
TRANSLATIONS = [
    ("I was at home.", "Bol som doma."),
    ("I was at home.", "Bola som doma."),  # the first of several counts
    ('She said: "I was at home."', "Povedala: „Bola som doma.“"),
    ("I sang.", "Spievala som."),
    ('She said: "I sang."', "Povedala: „Spievala som.“"),
    ('The man said "I sang."', "Muž povedal: „Spieval som.“"),
    ("I have a garden.", "Mám záhradu."),
    ("I slept.", "Spal som."),
    ('He said: "I slept."', "Povedal: „Spal som.“"),
    ("I was there and ate.", "Bol som tam a jedol som."),
    ('She said: "I was there and ate."', "Povedala: „Bola som tam a jedla som.“"),
    ("I would like to sleep.", "Rád by som spal."),
    ("Woman: I would like to sleep.", "Žena: Chcela by som spal."),
    ("I have been at home.", "Bol som doma."),
    ('She said: "I have been at home."', "Povedala: „Bola som doma.“"),
    ("I was tired.", "Bol som ospalý."),
    ("Woman: I was tired.", "Žena: Únava ma zmohla."),
    ('The woman said: "I was tired."', "Žena povedala: „Bola som ospalý.“"),
    ("Somebody else was tired.", "Niekto iný bol unavený."),
]


def test_translations_are_paired_up_and_the_others_counted() -> None:
    built = build_pairs(TRANSLATIONS, SENTENCES, "sk", "DeepL")
    assert [(pair.id, pair.stereotype, pair.male, pair.female) for pair in built.pairs] == [
        ("DeepL-0", 1, "Bol som doma.", "Bola som doma."),
        ("DeepL-1", 2, "Spieval som.", "Spievala som."),
        ("DeepL-8", 9, "Bol som ospalý.", "Bola som ospalý."),
    ]
    assert built.pairs[0] == GenderedPairItem(
        "DeepL-0", "sk", 1, "Bol som doma.", "Bola som doma.", "I was at home.", "DeepL"
    )
    expected = [NO_GENDER, NOT_PROMPTED, NOT_ONE_WORD, OTHER_LETTER, REPEATED_PAIR, NOT_TRANSLATED]
    assert built.rejected == Counter(expected)
    assert len(built.pairs) + built.rejected.total() == len(SENTENCES)
    assert build_pairs(TRANSLATIONS, SENTENCES, "sk").pairs[0].id == "0"


def test_translations_are_read_from_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('from,to\n"I sang, too.",Spieval som.\nempty,\n', encoding="utf-8")
    assert read_translations(path) == [("I sang, too.", "Spieval som.")]
    path.write_text("source,target\na,b\n", encoding="utf-8")
    with raises_mentioning(DataError, str(path), "from and to"):
        read_translations(path)
    path.write_text('from,to\n"a,b\n', encoding="utf-8")
    with raises_mentioning(DataError, str(path), "not CSV"):
        read_translations(path)
    path.write_bytes("from,to\nI ate,Jedla som ježa\n".encode("utf-16"))
    with raises_mentioning(DataError, str(path), "not UTF-8"):
        read_translations(path)
    with raises_mentioning(DataError, "absent.csv"):
        read_translations(tmp_path / "absent.csv")


@pytest.mark.parametrize(("system", "pairs"), [("deepl", 1_420), ("google_translate", 1_238)])
def test_slovak_pairs_from_the_released_translations(system: str, pairs: int, mirror: Path) -> None:
    """Table 7 of the paper has these counts, with the prompts *He/She said*; the released ones have *man/woman*."""
    folder = mirror / "kinit-sk/gest/data"
    sentences = [
        item
        for item in validate_file(folder / "gest.csv", "gest-csv", "en").require_valid_items()
        if isinstance(item, GestItem)
    ]
    built = build_pairs(read_translations(folder / f"translations/{system}/sk/translations.csv"), sentences, "sk")
    assert len(built.pairs) == pytest.approx(pairs, rel=0.1)
    assert built.rejected[NOT_TRANSLATED] == 0
