import subprocess
import sys

import pytest

from tiltmeter.errors import UsageError
from tiltmeter.gender import LANGUAGES, SpeakerGender, speaker_gender


def test_an_unknown_language_is_refused_with_the_nine_known() -> None:
    with pytest.raises(UsageError, match=r"'de'.*be, cs, hr, pl, ru, sk, sl, sr, uk"):
        speaker_gender("Ich war müde.", "de")


def test_a_language_is_never_a_module_name() -> None:
    with pytest.raises(UsageError):
        speaker_gender("Bola som tam.", "clauses")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", ["", " ", "…", "123", "?!", "\u200b"])
def test_no_words_no_gender(text: str, language: str) -> None:
    assert speaker_gender(text, language) is None
    assert speaker_gender(text, language, explain=True) == SpeakerGender(None)


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
    detected = speaker_gender(text, language, explain=True)
    assert (detected.cue, detected.rule) == (cue, rule)


def test_the_rules_need_the_standard_library_alone() -> None:
    code = (
        "import sys; from tiltmeter.gender import speaker_gender; speaker_gender('Я дома.', 'ru');"
        "sys.exit(bool({'numpy', 'torch', 'pandas', 'stanza', 'transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
