"""Detection of the grammatical gender of nouns for persons in translations. The rules are in `nouns/<language>.toml`.

A rule file has up to three tables. Each table maps a gender to a list of words. A `*` matches any letters.

    nouns         word forms that always have this gender: German `*in`, Spanish `alguien` (neutral)
    determiners   articles and similar words. The determiner that is nearest to the noun, at most `reach` words before
                  it, marks the gender. Determiners under `either` (French `l'`) do not mark a gender; if one is the
                  nearest, the table `endings` is used.
    endings       word forms that mark the gender if no determiner does

`[[together]]` lists determiners and nouns that mark a gender only together: German `der` with `Angestellten` is
feminine. `of` lists words between a noun and its complement: in *la empresa de mudanzas* the gender is that of
*empresa*. With `capitals = true`, only capitalised words are nouns. If no rule applies, the gender is unknown.

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

# The order in which genders are tested. Feminine is first, because many feminine forms are a masculine form with a
# suffix.
GENDERS = ("feminine", "masculine", "neutral")
# The default of `reach`, the maximum distance of a determiner from its noun: one adjective may be between the two.
_REACH = 2

# The reason why a language has no rules. Languages that are not listed here have no rules because there were no
# translations to test rules on.
_UNSUPPORTED = {
    language: f"in {name} a masculine noun is the usual word for a woman too, and other words show her gender"
    for language, name in (("ru", "Russian"), ("uk", "Ukrainian"))
}

_Patterns = Mapping[str, re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class NounGender:
    """The gender of a noun (masculine, feminine, neutral, or None if unknown) and the words that show it."""

    gender: str | None
    cue: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NounRules:
    """The rules for the gender of nouns in one language; the docstring of this module describes the fields."""

    nouns: _Patterns
    determiners: _Patterns
    endings: _Patterns
    either: re.Pattern[str]
    together: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...]
    of: re.Pattern[str]
    reach: int
    capitals: bool

    def find_gender(self, words: Sequence[str], place: int) -> NounGender:
        """Return the gender of the noun at index `place` of the words of a text, and the words that show it."""
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
    """Return the gender of the noun at index `place` of a text's words; elided words end in an apostrophe (`l'`)."""
    return load_noun_rules(language).find_gender(words, place)


@cache
def list_noun_languages() -> tuple[str, ...]:
    """Return the codes of the languages that have rules for nouns."""
    paths = (files("tiltmeter.gender") / "nouns").iterdir()
    return tuple(sorted(path.name.removesuffix(".toml") for path in paths if path.name.endswith(".toml")))


@cache
def load_noun_rules(language: str) -> NounRules:
    """Load the rules of a language; raise a UsageError if the language has no rules."""
    if language not in list_noun_languages():
        why = _UNSUPPORTED.get(language, "there are no rules that were tested on translations")
        supported = ", ".join(list_noun_languages())
        raise UsageError(f"The gender of nouns is not supported in {language!r}: {why}. Use one of {supported}.")
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
