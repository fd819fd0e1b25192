"""Rule-based detection of the speaker's grammatical gender in first-person sentences of Slavic languages.

The rules of a language are in a module whose name is the ISO 639 code of the language, such as `sk.py`.

>>> find_speaker_gender("Včera som bola unavená.", "sk")
'feminine'
>>> find_speaker_gender("Som dobrý hudobník.", "sk") is None
True
>>> find_speaker_gender("Я вчора втомився.", "uk", explain=True)
SpeakerGender(gender='masculine', cue=('я', 'втомився'), rule='past tense')
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal, overload

from tiltmeter.errors import UsageError
from tiltmeter.gender.clauses import Cue, Gender, Grammar, tokenize

__all__ = ["LANGUAGES", "Gender", "SpeakerGender", "check_language", "find_speaker_cues", "find_speaker_gender"]

# The name of a language's module is an ISO 639 code of two or three letters; all other modules have longer names.
LANGUAGES = tuple(sorted(module.name for module in iter_modules(__path__) if re.fullmatch("[a-z]{2,3}", module.name)))


@dataclass(frozen=True, slots=True)
class SpeakerGender:
    """The speaker's gender (None if no word marks it), the words that mark it (`cue`), and the rule that found them."""

    gender: Gender | None
    cue: tuple[str, ...] = ()
    rule: str | None = None


@overload
def find_speaker_gender(text: str, language: str, *, explain: Literal[False] = False) -> Gender | None: ...
@overload
def find_speaker_gender(text: str, language: str, *, explain: Literal[True]) -> SpeakerGender: ...
def find_speaker_gender(text: str, language: str, *, explain: bool = False) -> Gender | SpeakerGender | None:
    """Return the grammatical gender of the speaker of `text`, or None if no word marks the gender.

    With `explain`, return a SpeakerGender, which also has the words and the rule. If a text marks both genders, the
    gender that is marked first counts.
    """
    cue = min(find_speaker_cues(text, language), key=lambda cue: cue.position, default=None)
    if explain:
        return SpeakerGender(cue.gender, cue.words, cue.rule) if cue else SpeakerGender(None)
    return cue.gender if cue else None


def find_speaker_cues(text: str, language: str) -> Iterator[Cue]:
    """Yield every cue (words that mark the speaker's gender) in `text`, in any order."""
    yield from _load_grammar(language).find_cues(tokenize(text))


def check_language(language: str) -> None:
    """Raise a UsageError if there are no rules for a language."""
    if language not in LANGUAGES:
        raise UsageError(
            f"There are no rules for the speaker's gender in {language!r}; use one of {', '.join(LANGUAGES)}."
        )


@cache
def _load_grammar(language: str) -> Grammar:
    check_language(language)
    grammar: Grammar = import_module(f"{__name__}.{language}").GRAMMAR
    return grammar
