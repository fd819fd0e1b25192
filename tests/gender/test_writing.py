"""Unicode normal forms, capitals, invisible characters, apostrophes and scripts do not change the result."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gender.labelled import Labelled, labelled
from tiltmeter.gender import LANGUAGES, find_speaker_gender
from tiltmeter.gender.sr import transliterate_to_latin

ALL = [sentence for language in LANGUAGES for sentence in labelled(language)]
FORMS = ("NFC", "NFD", "NFKC", "NFKD")
INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"

sentences = st.sampled_from(ALL)


@given(sentences, st.sampled_from(FORMS), st.booleans())
@settings(max_examples=300)
def test_normal_forms_and_capitals(sentence: Labelled, form: str, capitals: bool) -> None:
    text = sentence.text.upper() if capitals else sentence.text
    written = unicodedata.normalize(form, text)
    assert find_speaker_gender(written, sentence.language) == find_speaker_gender(sentence.text, sentence.language)


@given(sentences, st.data())
@settings(max_examples=300)
def test_invisible_characters(sentence: Labelled, data: st.DataObject) -> None:
    text = sentence.text
    for _ in range(3):
        index = data.draw(st.integers(0, len(text)))
        text = text[:index] + data.draw(st.sampled_from(INVISIBLE)) + text[index:]
    assert find_speaker_gender(text, sentence.language) == find_speaker_gender(sentence.text, sentence.language)


@pytest.mark.parametrize("apostrophe", "'’ʼ‘`´′＇")
def test_apostrophes(apostrophe: str) -> None:
    text = "Через п'ять хвилин я з'їла м'який хліб.".replace("'", apostrophe)
    assert find_speaker_gender(text, "uk", explain=True).cue == ("я", "з'їла")


def test_stress_marks() -> None:
    assert find_speaker_gender("Я уста\u0301ла.", "ru") == "feminine"
    assert find_speaker_gender("Я купи\u0301в хліб.", "uk") == "masculine"


@pytest.mark.parametrize("sentence", labelled("sr"), ids=lambda sentence: sentence.text)
def test_serbian_is_the_same_in_both_scripts(sentence: Labelled) -> None:
    assert find_speaker_gender(transliterate_to_latin(sentence.text.lower()), "sr") == find_speaker_gender(
        sentence.text, "sr"
    )


def test_serbian_latin_with_ligatures() -> None:
    assert find_speaker_gender("Volela sam Ǉubǉanu.", "sr") == "feminine"


@given(st.text(max_size=60), st.sampled_from(LANGUAGES))
@settings(max_examples=300)
def test_any_text_has_an_answer(text: str, language: str) -> None:
    assert find_speaker_gender(text, language) in ("masculine", "feminine", None)
