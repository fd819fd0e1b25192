import pytest

from tests.gender.labelled import Labelled, labelled
from tiltmeter.gender import LANGUAGES, find_speaker_gender

ALL = [sentence for language in LANGUAGES for sentence in labelled(language)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_forty_sentences_and_half_are_traps(language: str) -> None:
    sentences = labelled(language)
    traps = [sentence for sentence in sentences if sentence.trap != "plain"]
    assert len(sentences) >= 40
    assert len(traps) >= len(sentences) / 2
    assert {sentence.gender for sentence in sentences} == {"masculine", "feminine", "none"}
    assert len({sentence.text for sentence in sentences}) == len(sentences)


@pytest.mark.parametrize("sentence", ALL, ids=lambda sentence: f"{sentence.language}-{sentence.text}")
def test_never_a_wrong_gender(sentence: Labelled) -> None:
    detected = find_speaker_gender(sentence.text, sentence.language, explain=True)
    assert detected.gender in (None, sentence.gender), detected


@pytest.mark.parametrize("language", LANGUAGES)
def test_nine_of_ten_genders_are_found(language: str) -> None:
    gendered = [sentence for sentence in labelled(language) if sentence.gender != "none"]
    detected = [sentence for sentence in gendered if find_speaker_gender(sentence.text, language) == sentence.gender]
    assert len(detected) >= 0.9 * len(gendered)
