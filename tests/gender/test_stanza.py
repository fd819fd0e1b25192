"""The Stanza back-end with a fake Stanza."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.gender.stanza import StanzaGenderFinder


def word(number: int, text: str, upos: str, feats: str | None, head: int, deprel: str) -> SimpleNamespace:
    return SimpleNamespace(id=number, text=text, lemma=None, upos=upos, feats=feats, head=head, deprel=deprel)


@pytest.fixture
def parsed_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the fake parsed. The fake returns two sentences; the second one marks a gender."""
    texts: list[str] = []

    def pipeline(language: str, processors: str, verbose: bool) -> object:
        def run(text: str) -> SimpleNamespace:
            texts.append(text)
            silent = SimpleNamespace(words=[word(1, "Da", "PART", None, 0, "root")])
            gendered = SimpleNamespace(
                words=[
                    word(1, "došla", "VERB", "Gender=Fem|Number=Sing", 0, "root"),
                    word(2, "sam", "AUX", "Number=Sing|Person=1", 1, "aux"),
                ]
            )
            return SimpleNamespace(sentences=[silent, gendered])

        return run

    module = ModuleType("stanza")
    module.Pipeline = pipeline  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "stanza", module)
    return texts


def test_the_first_sentence_with_a_gender_counts(parsed_texts: list[str]) -> None:
    detected = StanzaGenderFinder("hr").find_speaker_gender("Da. Došla sam.")
    assert (detected.gender, detected.cue) == ("feminine", ("došla",))
    assert parsed_texts == ["Da. Došla sam."]


def test_serbian_is_parsed_in_latin_letters(parsed_texts: list[str]) -> None:
    StanzaGenderFinder("sr").find_speaker_gender("Дошла сам.")
    assert parsed_texts == ["došla sam."]


def test_without_stanza_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stanza", None)
    with raises_mentioning(UsageError, "tiltmeter[stanza]"):
        StanzaGenderFinder("sk")


def test_an_unknown_language_is_a_usage_error(parsed_texts: list[str]) -> None:
    with raises_mentioning(UsageError, "'de'"):
        StanzaGenderFinder("de")
