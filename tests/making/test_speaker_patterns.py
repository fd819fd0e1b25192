"""First person and gender of the speaker in source sentences, by language."""

import pytest

from tiltmeter.making.project_settings import ProjectSettings
from tiltmeter.making.writing.speaker_patterns import find_gender_cue, is_first_person, load_speaker_patterns
from tiltmeter.making.writing.writing_checks import list_missing_checks


@pytest.mark.parametrize(
    ("language", "sentence", "first", "gendered"),
    [
        ("en", "I am a good mother.", True, True),
        ("en", "My tea is cold.", True, False),
        ("en", "The tea is cold.", False, False),
        ("en", "I'm a good father.", True, True),
        ("en", "I talked to a woman.", True, False),
        ("de", "Ich habe gekocht.", True, False),
        ("de", "Mein Hund schläft.", True, False),
        ("de", "Sie kochten.", False, False),
        ("de", "Als Mutter koche ich gern.", True, True),
        ("de", "Ich bin eine gute Lehrerin.", True, True),
        ("de", "Ich bin Lehrer.", True, False),
        ("de", "Ich rief eine Frau an.", True, False),
        ("fr", "J’ai cuisiné.", True, False),
        ("fr", "Ils ont cuisiné.", False, False),
        ("fr", "Je suis allée au marché.", True, True),
        ("fr", "Je suis une femme.", True, True),
        ("fr", "Je suis triste.", True, False),
        ("fr", "J'ai appelé une femme.", True, False),
        ("es", "Cociné la cena.", True, False),
        ("es", "Trabajo mucho.", True, False),
        ("es", "Cocinaron la cena.", False, False),
        ("es", "El perro duerme aquí.", False, False),
        ("es", "Estoy cansada.", True, True),
        ("es", "Soy madre.", True, True),
        ("es", "Soy feliz.", True, False),
        ("es", "Estoy en casa.", True, False),
    ],
)
def test_sentences(language: str, sentence: str, first: bool, gendered: bool) -> None:
    assert is_first_person(sentence, language) is first
    assert bool(find_gender_cue(sentence, language)) is gendered


def test_a_language_without_patterns_or_rules_is_not_checked() -> None:
    assert load_speaker_patterns("hu") is None
    assert find_gender_cue("Főztem.", "hu") is None
    # The rules of the speaker's gender need no patterns.
    assert find_gender_cue("Bola som doma.", "sk") == "bola som"
    assert find_gender_cue("Som doma.", "sk") == ""


@pytest.mark.parametrize(
    ("form", "source", "language", "missing"),
    [
        ("gest", "en", "sk", []),
        ("gest", "hu", "sk", ["in the first person", "sentences show the gender"]),
        ("gest", "de", "es", ["translations show the gender"]),
        ("gendered-pairs", "es", "es", ["speakers of a pair"]),
        ("gendered-pairs", "sk", "sk", []),
        ("pairs", "hu", "hu", []),
    ],
)
def test_what_is_not_checked_is_said(form: str, source: str, language: str, missing: list[str]) -> None:
    settings = ProjectSettings("written", source, language, form, form, "written", "", "")
    lines = list_missing_checks(settings)
    assert len(lines) == len(missing)
    for line, words in zip(lines, missing, strict=True):
        assert line.startswith("Not checked: ")
        assert words in line
