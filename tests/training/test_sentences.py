"""Selection, cutting and comparison of sentences, and detection of other languages."""

import pytest

from tests.training.made_articles import made
from tiltmeter.training.language_check import create_language_check
from tiltmeter.training.sentences import (
    MAX_CHARACTERS,
    compute_digest,
    count_words,
    cut_text,
    select_usable_sentences,
    split_sentences,
)


def test_a_sentence_does_not_continue_in_the_next_block() -> None:
    blocks = ["One sentence. And  a\nhalf", "of it. Dr. Smith came, e.g. by train."]
    assert list(split_sentences(blocks, "en")) == [
        "One sentence.",
        "And a half",
        "of it.",
        "Dr. Smith came, e.g. by train.",
    ]


def test_abbreviations_are_those_of_the_language() -> None:
    text = "Das gilt z. B. für Fr. Meier. Sie kommt."
    assert list(split_sentences([text], "de-AT")) == ["Das gilt z. B. für Fr. Meier.", "Sie kommt."]


def test_positions_count_all_sentences() -> None:
    texts = ["Too short.", "This one is long enough.", "= A1 + B2 * ( C3 - 4 )", "And this one is, too."]
    assert [sentence.position for sentence in select_usable_sentences(texts)] == [1, 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("- – * /", 0), ("a-b c", 2), ("他昨天去了北京。", 3), ("ฉันไปตลาด", 4), ("Use 你好 now", 3)],
)
def test_words(text: str, words: int) -> None:
    assert count_words(text) == words


def test_long_sentences_are_cut_at_a_space() -> None:
    long = "word " * 300
    (sentence,) = select_usable_sentences([long])
    assert len(sentence.text) <= MAX_CHARACTERS
    assert set(sentence.text.split()) == {"word"}
    assert cut_text("x" * 600) == "x" * MAX_CHARACTERS
    exact = "a" * (MAX_CHARACTERS - 2) + " b"
    assert cut_text(exact) == exact
    assert cut_text(exact + " c") == exact


def test_the_digest_ignores_case_and_spaces_and_the_form_of_accents() -> None:
    same = ["Caf\u00e9 is open", "cafe\u0301  IS\u00a0open ", " Café is OPEN"]
    assert len({compute_digest(text) for text in same}) == 1
    assert compute_digest("Cafe is open") != compute_digest("Café is open")
    assert -(2**63) <= compute_digest("any") < 2**63


@pytest.mark.parametrize("language", ["de", "fr"])
def test_english_in_another_language_is_detected(language: str) -> None:
    check = create_language_check(language, frozenset({"en", "de", "fr"}))
    assert check is not None
    english = [text for texts in made("en", 20).values() for text in texts]
    own = [text for texts in made(language, 20).values() for text in texts]
    assert sum(check.other_language(text) == "en" for text in english) > 0.9 * len(english)
    assert sum(check.other_language(text) is not None for text in own) == 0


def test_checks_of_two_languages_are_independent() -> None:
    swedish = create_language_check("sv", frozenset({"sv"}))
    german, english = create_language_check("de", frozenset({"de"})), create_language_check("en", frozenset({"en"}))
    assert swedish is not None
    assert swedish.other_language("Grannen arbetade länge i trädgården i går.") is None
    assert german is not None
    assert english is not None
    text = "Die Nachbarin hat gestern lange im Garten gearbeitet."
    assert german.other_language(text) is None
    assert english.other_language(text) == "de"


def test_an_unsupported_language_is_not_checked() -> None:
    assert create_language_check("tlh", frozenset()) is None
