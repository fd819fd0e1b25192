"""Rule-based detection of the speaker's grammatical gender in first-person sentences of Slavic languages.

The rules of a language are in the module named by its ISO 639 code, such as `sk.py`.

>>> find_speaker_gender("Včera som bola unavená.", "sk")
'feminine'
>>> find_speaker_gender("Som dobrý hudobník.", "sk") is None
True
>>> find_speaker_gender("Я вчора втомився.", "uk", explain=True)
SpeakerGender(gender='masculine', cue=('я', 'втомився'), rule='past tense')
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal, overload

from tiltmeter.errors import UsageError
from tiltmeter.gender.clauses import Gender, Grammar, tokenize

__all__ = ["LANGUAGES", "Gender", "SpeakerGender", "find_speaker_gender"]

# Modules of languages are named by their ISO 639 codes; all other modules have longer names.
LANGUAGES = tuple(sorted(module.name for module in iter_modules(__path__) if re.fullmatch("[a-z]{2,3}", module.name)))


@dataclass(frozen=True, slots=True)
class SpeakerGender:
    """The speaker's gender, the words that mark it, and the rule that matched; the gender is None if unmarked."""

    gender: Gender | None
    cue: tuple[str, ...] = ()
    rule: str | None = None


@overload
def find_speaker_gender(text: str, language: str, *, explain: Literal[False] = False) -> Gender | None: ...
@overload
def find_speaker_gender(text: str, language: str, *, explain: Literal[True]) -> SpeakerGender: ...
def find_speaker_gender(text: str, language: str, *, explain: bool = False) -> Gender | SpeakerGender | None:
    """Return the grammatical gender of the speaker of `text`, or None; with `explain`, also the words and the rule.

    If a text marks both genders, the first one counts.
    """
    cue = min(_load_grammar(language).find_cues(tokenize(text)), key=lambda cue: cue.position, default=None)
    if explain:
        return SpeakerGender(cue.gender, cue.words, cue.rule) if cue else SpeakerGender(None)
    return cue.gender if cue else None


@cache
def _load_grammar(language: str) -> Grammar:
    if language not in LANGUAGES:
        raise UsageError(
            f"There are no rules for the speaker's gender in {language!r}; use one of {', '.join(LANGUAGES)}."
        )
    grammar: Grammar = import_module(f"{__name__}.{language}").GRAMMAR
    return grammar
