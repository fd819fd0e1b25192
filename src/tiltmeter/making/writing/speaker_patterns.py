"""Detect whether a source sentence is in the first person, and whether it shows the gender of its speaker.

The patterns in `speakers/<language>.toml` find common sentences, but not all. For languages that have rules in
`tiltmeter.gender`, these rules find the gender instead of the patterns.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files

from tiltmeter.gender import LANGUAGES, find_speaker_gender
from tiltmeter.making.toml_values import read_toml

_KEYS = ("first_person", "openings", "articles", "article_optional", "nouns", "patterns")


@dataclass(frozen=True, slots=True)
class SpeakerPatterns:
    """The regular expressions of a language for sentences in the first person, and for words that show the gender."""

    first_person: tuple[re.Pattern[str], ...]
    gendered: tuple[re.Pattern[str], ...]


@cache
def load_speaker_patterns(language: str) -> SpeakerPatterns | None:
    """Return the patterns of a language; None if there is no file for the language."""
    resource = files("tiltmeter.making.writing").joinpath("speakers", f"{language.split('-')[0].lower()}.toml")
    if not resource.is_file():
        return None
    with as_file(resource) as path:
        table = read_toml(path)
    table.reject_unknown_keys(_KEYS)
    article = f"(?:{_join_alternatives(table.read_texts('articles'))}) "
    if table.read_bool("article_optional", default=False):
        article = f"(?:{article})?"
    openings, nouns = (_join_alternatives(table.read_texts(key)) for key in ("openings", "nouns"))
    said = rf"\b(?:{openings}) ?{article}(?:[\w-]+ ){{0,2}}(?:{nouns})\b"
    return SpeakerPatterns(
        tuple(map(re.compile, table.read_texts("first_person"))),
        (re.compile(said, re.IGNORECASE), *map(re.compile, table.read_texts("patterns"))),
    )


def _join_alternatives(words: tuple[str, ...]) -> str:
    return "|".join(map(re.escape, words))


def is_first_person(sentence: str, language: str) -> bool | None:
    """Tell whether a sentence is in the first person singular; return None if the language has no patterns.

    >>> is_first_person("I cooked dinner.", "en"), is_first_person("They cooked dinner.", "en")
    (True, False)
    >>> is_first_person("Főztem.", "hu") is None
    True
    """
    patterns = load_speaker_patterns(language)
    return None if patterns is None else any(pattern.search(sentence) for pattern in patterns.first_person)


def find_gender_cue(sentence: str, language: str) -> str | None:
    """Return the words that show the gender of the speaker; an empty text if there are no such words.

    Return None if the language has neither rules nor patterns.

    >>> find_gender_cue("As a young woman, I was shy.", "en"), find_gender_cue("I called a woman.", "en")
    ('As a young woman', '')
    """
    if language in LANGUAGES:
        return " ".join(find_speaker_gender(sentence, language, explain=True).cue)
    patterns = load_speaker_patterns(language)
    if patterns is None:
        return None
    return next((found[0] for pattern in patterns.gendered if (found := pattern.search(sentence))), "")
