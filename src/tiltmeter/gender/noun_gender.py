"""The grammatical gender of a noun for a person in a translation, by rules per language: `nouns/xx.toml`.

A rule file has up to three tables, each with lists of words by gender. In these a `*` stands for any letters.

    nouns         forms that have their gender whatever stands before them: German `*in`, Spanish `alguien` (neutral)
    determiners   articles and the like, of which the one nearest before the noun decides, within `reach` words; those
                  under `either`, as French `l'`, are the noun's own but tell nothing
    endings       forms that decide where no determiner does

`[[together]]` has pairs of a determiner and a noun that decide together, as German `der` with `Angestellten`
(feminine). `of` has words that join a noun to the one it depends on: in *la empresa de mudanzas* the gender is that of
*empresa*. `capitals` says that nouns are written with a capital. What no rule decides is not told.

>>> find_noun_gender(["Die", "Bäckerin", "lachte"], 1, "de")
NounGender(gender='feminine', cue=('Bäckerin',))
>>> find_noun_gender(["vio", "al", "conserje"], 2, "es")
NounGender(gender='masculine', cue=('al', 'conserje'))
>>> find_noun_gender(["l'", "analyste"], 1, "fr").gender is None
True
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from tiltmeter.errors import UsageError

# In the order in which rules are tried: feminine forms are mostly made of masculine ones, by a suffix.
GENDERS = ("feminine", "masculine", "neutral")
# A determiner stands right before its noun, or before one adjective.
_REACH = 2

# Why a language has no rules; of others there were no translations to try rules on.
_REFUSED = {
    language: f"in {name} a masculine noun is the usual word for a woman too, and her gender shows in other words"
    for language, name in (("ru", "Russian"), ("uk", "Ukrainian"))
}

_Patterns = Mapping[str, re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class NounGender:
    """The gender of a noun (masculine, feminine, or neutral) and the words that show it; None if no rule decides."""

    gender: str | None
    cue: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NounRules:
    """The rules of a language."""

    nouns: _Patterns
    determiners: _Patterns
    endings: _Patterns
    either: re.Pattern[str]
    together: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...]
    of: re.Pattern[str]
    reach: int
    capitals: bool

    def gender(self, words: Sequence[str], place: int) -> NounGender:
        """The gender of the noun at `place` among the words of a text."""
        while place > 1 and self.of.fullmatch(words[place - 1]):
            place -= 2
        noun = words[place]
        if gender := _find_matching(self.nouns, noun):
            return NounGender(gender, (noun,))
        if self.capitals and not noun[:1].isupper():
            return NounGender(None)
        for before in range(place - 1, max(-1, place - 1 - self.reach), -1):
            word = words[before]
            for determiner, form, gender in self.together:
                if determiner.fullmatch(word) and form.fullmatch(noun):
                    return NounGender(gender, (word, noun))
            if gender := _find_matching(self.determiners, word):
                return NounGender(gender, (word, noun))
            if self.either.fullmatch(word):
                break
        if gender := _find_matching(self.endings, noun):
            return NounGender(gender, (noun,))
        return NounGender(None)


def find_noun_gender(words: Sequence[str], place: int, language: str) -> NounGender:
    """The gender of the noun at `place` among the words of a text; elided words end in an apostrophe: `l'`."""
    return load_noun_rules(language).gender(words, place)


@cache
def list_noun_languages() -> tuple[str, ...]:
    """The languages with rules for nouns."""
    paths = (files("tiltmeter.gender") / "nouns").iterdir()
    return tuple(sorted(path.name.removesuffix(".toml") for path in paths if path.name.endswith(".toml")))


@cache
def load_noun_rules(language: str) -> NounRules:
    """The rules of a language."""
    if language not in list_noun_languages():
        why = _REFUSED.get(language, f"there are no rules for {language!r} that were tried on translations")
        raise UsageError(f"The gender of a person is read off nouns in {', '.join(list_noun_languages())} only: {why}.")
    text = (files("tiltmeter.gender") / "nouns" / f"{language}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return NounRules(
        nouns=_compile_patterns(table.get("nouns", {})),
        determiners=_compile_patterns(table.get("determiners", {})),
        endings=_compile_patterns(table.get("endings", {})),
        either=_compile_pattern(table.get("determiners", {}).get("either", [])),
        together=tuple(
            (_compile_pattern(pair["determiners"]), _compile_pattern(pair["nouns"]), pair["gender"])
            for pair in table.get("together", [])
        ),
        of=_compile_pattern(table.get("of", [])),
        reach=table.get("reach", _REACH),
        capitals=table.get("capitals", False),
    )


def _compile_patterns(table: Mapping[str, Any]) -> _Patterns:
    return {gender: _compile_pattern(table[gender]) for gender in GENDERS if table.get(gender)}


def _compile_pattern(forms: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(form).replace(r"\*", r"\w*") for form in forms), re.IGNORECASE)


def _find_matching(patterns: _Patterns, word: str) -> str | None:
    return next((gender for gender, pattern in patterns.items() if pattern.fullmatch(word)), None)
