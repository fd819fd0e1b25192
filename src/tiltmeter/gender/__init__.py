"""The grammatical gender of the first person of a sentence, in nine Slavic languages, by rules alone.

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
    """The speaker's gender, the word or words that show it, and the rule that found them; None where nothing does."""

    gender: Gender | None
    cue: tuple[str, ...] = ()
    rule: str | None = None


@overload
def speaker_gender(text: str, language: str, *, explain: Literal[False] = False) -> Gender | None: ...
@overload
def speaker_gender(text: str, language: str, *, explain: Literal[True]) -> SpeakerGender: ...
def speaker_gender(text: str, language: str, *, explain: bool = False) -> Gender | SpeakerGender | None:
    """Masculine, feminine or None for the first person of `text`; with `explain`, also why.

    Where a text mixes the genders, its first cue decides.
    """
    cue = min(_grammar(language).cues(tokens(text)), key=lambda found: found.position, default=None)
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
