"""Untranslated text is found in every form; names, cognates and loan words are not reported."""

import pytest

from tests.making.quality.conftest import AddDictionary
from tiltmeter.making.quality.dictionaries import find_dictionary
from tiltmeter.making.quality.source_names import collect_names
from tiltmeter.making.quality.untranslated_text import UntranslatedCheck, create_untranslated_check

SOURCE = {
    "target_term": "plumber",
    "context": "The plumber from Turin was BLANK today.",
    "candidates[0].word": "messy",
    "candidates[1].word": "popular",
}
TEXTS = {
    "target_term": "plumber",
    "context": "O plumber de Turin era BLANK hoxe.",
    "candidates[0].word": "messy",
    "candidates[1].word": "popular",
}
FOUND = {"target_term": ("plumber",), "context": ("plumber",), "candidates[0].word": ("messy",)}


def words(check: UntranslatedCheck, marked: list[str] | None = None) -> dict[str, tuple[str, ...]]:
    return {found.field: found.words for found in check.find_untranslated(SOURCE, TEXTS, marked)}


def create(language: str = "gl") -> UntranslatedCheck:
    return create_untranslated_check("en", language, SOURCE.values())


def test_cognates_are_in_the_dictionary_and_names_are_capitalised(add_dictionary: AddDictionary) -> None:
    add_dictionary("gl_ES", "popular era hoxe")
    check = create()
    assert words(check) == FOUND
    assert check.limits == ""
    assert check.find_untranslated(SOURCE, {"context": "O fontaneiro de Turin era BLANK hoxe."}) == []


def test_without_a_dictionary_marks_replace_it(add_dictionary: AddDictionary) -> None:
    check = create()
    assert words(check, ["plumber", "messy"]) == FOUND
    assert words(check, []) == {}
    (found, *_) = check.find_untranslated(SOURCE, TEXTS, ["plumber"])
    assert "hunspell-gl" in found.message


def test_without_both_loan_words_are_reported_and_the_finding_says_so(add_dictionary: AddDictionary) -> None:
    check = create()
    assert words(check) == {**FOUND, "candidates[1].word": ("popular",)}
    (found, *_) = check.find_untranslated(SOURCE, TEXTS)
    assert "hunspell-gl" in found.message
    assert "hunspell-gl" in check.limits


def test_a_short_marked_word_is_reported_although_the_dictionary_has_it(add_dictionary: AddDictionary) -> None:
    add_dictionary("gl_ES", "popular era hoxe messy")
    assert words(create()) == {"target_term": ("plumber",), "context": ("plumber",)}
    assert words(create(), ["messy", "popular"]) == {"candidates[0].word": ("messy",)}


def test_marks_do_not_hide_a_cognate_and_unmarked_words_are_known_to_the_system(add_dictionary: AddDictionary) -> None:
    add_dictionary("gl_ES", "popular era hoxe")
    assert words(create(), ["popular", "plumber"]) == {"target_term": ("plumber",), "context": ("plumber",)}


def test_another_script_needs_no_dictionary(add_dictionary: AddDictionary) -> None:
    check = create("ru")
    assert check.limits == ""
    found = check.find_untranslated(SOURCE, {"context": "The popular водопроводчик из Turin был BLANK."})
    assert [text.words for text in found] == [("The", "popular")]


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("The plumber from Turin was very kind today.", True),
        ("O fontaneiro de Turín era moi amable hoxe.", False),
        ("El fontanero de Turín era muy amable hoy.", False),
        ("The plumber.", False),
    ],
)
def test_whole_texts_in_the_source_language(text: str, is_whole: bool, add_dictionary: AddDictionary) -> None:
    pytest.importorskip("py3langid", reason="py3langid is not installed: pip install 'tiltmeter[quality]'")
    add_dictionary("gl_ES", "the plumber from was very kind today")
    found = create().find_untranslated({"context": "Nothing in common."}, {"context": text})
    assert [one.is_whole for one in found] == ([True] if is_whole else [])


def test_names(add_dictionary: AddDictionary) -> None:
    texts = [
        "We met Ada in Turin.",
        "Ethiopians cook well, and the Ethiopian chef met Ada.",
        "The old Turks met a Turk from Peru, and jews met Jews.",
        "The peru of old.",
        "NASA is in Peru.",
    ]
    names = collect_names(texts, "en")
    words = ["Ada", "Turin", "Peru", "NASA", "peru", "Ethiopian", "Ethiopians", "Turks", "jews", "chef", "The"]
    assert [word for word in words if names.has_name(word)] == ["Ada", "Turin", "Peru", "NASA", "peru", "jews"]


def test_the_dictionary_of_the_source_knows_more_names(add_dictionary: AddDictionary) -> None:
    add_dictionary("en_US", "Jew/S Disney chess ivy")
    texts = ["We met Jews.", "Disney is old.", "Chess is old.", "It is an Ivy League school with ivy.", "An ivy, Ivy."]
    names = collect_names(texts, "en", find_dictionary("en"))
    words = ("jews", "Disney", "Chess", "Ivy", "ivy")
    assert [word for word in words if names.has_name(word)] == ["Disney", "Ivy"]
