"""Rule-based detection of the speaker's grammatical gender in first-person sentences, for nine Slavic languages.

>>> speaker_gender("Včera som bola unavená.", "sk")
'feminine'
>>> speaker_gender("Som dobrý hudobník.", "sk") is None
True
>>> speaker_gender("Я вчора втомився.", "uk", explain=True)
SpeakerGender(gender='masculine', cue=('я', 'втомився'), rule='past tense')
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Literal, overload

from tiltmeter.errors import UsageError
from tiltmeter.gender.clauses import Gender, Grammar, tokens

__all__ = ["LANGUAGES", "Gender", "SpeakerGender", "speaker_gender"]

LANGUAGES = ("be", "cs", "hr", "pl", "ru", "sk", "sl", "sr", "uk")


@dataclass(frozen=True, slots=True)
class SpeakerGender:
    """The speaker's gender, the words that mark it, and the rule that matched; None if nothing marks it."""

    gender: Gender | None
    cue: tuple[str, ...] = ()
    rule: str | None = None


@overload
def speaker_gender(text: str, language: str, *, explain: Literal[False] = False) -> Gender | None: ...
@overload
def speaker_gender(text: str, language: str, *, explain: Literal[True]) -> SpeakerGender: ...
def speaker_gender(text: str, language: str, *, explain: bool = False) -> Gender | SpeakerGender | None:
    """The grammatical gender of the first person in `text`, or None; with `explain`, also the words and the rule.

    If a text has cues of both genders, the first one decides.
    """
    cue = min(_grammar(language).cues(tokens(text)), key=lambda cue: cue.position, default=None)
    if explain:
        return SpeakerGender(cue.gender, cue.words, cue.rule) if cue else SpeakerGender(None)
    return cue.gender if cue else None


@cache
def _grammar(language: str) -> Grammar:
    if language not in LANGUAGES:
        raise UsageError(
            f"There are no rules for the speaker's gender in {language!r}, only for {', '.join(LANGUAGES)}."
        )
    grammar: Grammar = import_module(f"tiltmeter.gender.{language}").GRAMMAR
    return grammar
