import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter import gender
from tiltmeter.errors import UsageError
from tiltmeter.gender import LANGUAGES, SpeakerGender, find_speaker_gender


def test_every_module_with_a_grammar_is_a_language() -> None:
    sources = {path.stem: path.read_text(encoding="utf-8") for path in Path(gender.__file__).parent.glob("*.py")}
    with_grammar = {name for name, source in sources.items() if re.search("^GRAMMAR = ", source, re.MULTILINE)}
    assert with_grammar == set(LANGUAGES)
    assert {"sk", "uk"} < with_grammar


def test_the_error_for_an_unknown_language_lists_the_supported_ones() -> None:
    with raises_mentioning(UsageError, "'de'", ", ".join(LANGUAGES)):
        find_speaker_gender("Ich war müde.", "de")


def test_a_language_is_never_a_module_name() -> None:
    with pytest.raises(UsageError):
        find_speaker_gender("Bola som tam.", "clauses")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", ["", " ", "…", "123", "?!", "\u200b"])
def test_no_words_no_gender(text: str, language: str) -> None:
    assert find_speaker_gender(text, language) is None
    assert find_speaker_gender(text, language, explain=True) == SpeakerGender(None)


@pytest.mark.parametrize(
    ("text", "language", "cue", "rule"),
    [
        ("Ráno som dlho spala.", "sk", ("som", "spala"), "participle"),
        ("Nejsem unavený.", "cs", ("nejsem", "unavený"), "predicate adjective"),
        ("Rad plavam.", "sl", ("rad",), "agreeing word"),
        ("Poszłam do domu.", "pl", ("poszłam",), "past tense"),
        ("Хочу быть первой.", "ru", ("быть", "первой"), "predicate adjective"),
        ("Ніколи не курив.", "uk", ("курив",), "past tense without subject"),
        ("Ја сам дошла.", "sr", ("sam", "došla"), "participle"),
    ],
)
def test_the_cue_and_the_rule_are_given(text: str, language: str, cue: tuple[str, ...], rule: str) -> None:
    detected = find_speaker_gender(text, language, explain=True)
    assert (detected.cue, detected.rule) == (cue, rule)


def test_the_rules_need_the_standard_library_alone() -> None:
    code = (
        "import sys; from tiltmeter.gender import find_speaker_gender; find_speaker_gender('Я дома.', 'ru');"
        "sys.exit(bool({'numpy', 'torch', 'pandas', 'stanza', 'transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
