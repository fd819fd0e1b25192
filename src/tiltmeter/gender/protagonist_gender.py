"""The gender of the protagonist of a short story.

In a language with a file `protagonist/xx.toml`, stories are told in the third person. The words of the file show the
gender. They are regular expressions for whole words, in lower case except in `names`; `{name}` inserts an entry of
`parts`.

    pronouns    pronouns and words that agree with the protagonist
    nouns       nouns for adults that have only one gender, such as "woman"; not words for relatives and children, who
                are other persons in most stories
    names       frequent given names of one gender, and titles that are also other words in lower case
    generic     nouns for a person of any gender, such as "person". Words agree with the gender of this noun, not of the
                person, so in a story with such a noun `pronouns` do not count.

In the other Slavic languages with gender rules, stories are told in the first person, and the rules for the speaker's
gender apply to all clauses of the story.

Other persons in a story have a gender too. The gender of the protagonist is the gender with the larger number of words,
if this number is at least twice that of the other gender; otherwise it is not known.

>>> find_protagonist_gender("Kim whistled. She was happy, and her brother waved.", "en").gender
'feminine'
>>> find_protagonist_gender("She waved, and he whistled.", "en").gender is None
True
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.gender import LANGUAGES as SPEAKER_LANGUAGES
from tiltmeter.gender import SpeakerGender, find_speaker_cues
from tiltmeter.gender.clauses import FEMININE, MASCULINE, Gender, normalise_text

_RATIO = 2
_GENDERS: tuple[Gender, ...] = (FEMININE, MASCULINE)
_PART = re.compile(r"\{([a-z]+)\}")

_Patterns = Mapping[Gender, re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class ProtagonistWords:
    """The words that show the gender of a protagonist in one language; the docstring of this module explains them."""

    pronouns: _Patterns
    nouns: _Patterns
    names: _Patterns
    generic: re.Pattern[str]

    def find_words(self, text: str) -> Iterator[tuple[Gender, str]]:
        """Yield the gender and the text of each word that shows the gender of the protagonist."""
        folded = " ".join(normalise_text(text).split())
        tables = (self.nouns,) if self.generic.search(folded) else (self.pronouns, self.nouns)
        for gender in _GENDERS:
            yield from ((gender, match[0]) for table in tables for match in table[gender].finditer(folded))
            yield from ((gender, match[0]) for match in self.names[gender].finditer(text))


@cache
def list_third_person_languages() -> tuple[str, ...]:
    """Return the codes of the languages in which stories are told in the third person."""
    paths = (files("tiltmeter.gender") / "protagonist").iterdir()
    return tuple(sorted(path.name.removesuffix(".toml") for path in paths if path.name.endswith(".toml")))


def list_protagonist_languages() -> tuple[str, ...]:
    """Return the codes of the languages in which the gender of a protagonist can be found."""
    return tuple(sorted({*list_third_person_languages(), *SPEAKER_LANGUAGES}))


def find_protagonist_gender(story: str, language: str) -> SpeakerGender:
    """Return the gender of the protagonist of a story and the words that show it; the gender is None if not known."""
    if language in list_third_person_languages():
        words = list(_load_words(language).find_words(story))
        rule = "third person"
    elif language in SPEAKER_LANGUAGES:
        words = [(cue.gender, " ".join(cue.words)) for cue in find_speaker_cues(story, language)]
        rule = "first person"
    else:
        supported = ", ".join(list_protagonist_languages())
        raise UsageError(f"There are no rules for the gender of a protagonist in {language!r}; use one of {supported}.")
    return _decide_gender(words, rule)


def _decide_gender(words: list[tuple[Gender, str]], rule: str) -> SpeakerGender:
    counts = Counter(gender for gender, _ in words)
    for gender, other in ((FEMININE, MASCULINE), (MASCULINE, FEMININE)):
        if counts[gender] and counts[gender] >= _RATIO * counts[other]:
            return SpeakerGender(gender, tuple(dict.fromkeys(word for own, word in words if own == gender)), rule)
    return SpeakerGender(None)


@cache
def _load_words(language: str) -> ProtagonistWords:
    path = files("tiltmeter.gender") / "protagonist" / f"{language}.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    parts = {name: text.replace("\n", "") for name, text in table.get("parts", {}).items()}

    def compile_words(words: list[str]) -> re.Pattern[str]:
        forms = (_PART.sub(lambda match: parts[match[1]], word) for word in words)
        return re.compile(rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)") if words else re.compile("(?!)")

    def compile_genders(words: Mapping[str, Any]) -> _Patterns:
        return {gender: compile_words(words.get(gender, [])) for gender in _GENDERS}

    return ProtagonistWords(
        pronouns=compile_genders(table.get("pronouns", {})),
        nouns=compile_genders(table.get("nouns", {})),
        names=compile_genders(table.get("names", {})),
        generic=compile_words(table.get("generic", {}).get("nouns", [])),
    )
