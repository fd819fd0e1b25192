"""The repair rules of a language, from `rules/xx.toml`; docs/how-to/repair.md describes the format."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from tiltmeter.errors import DataError
from tiltmeter.forms import TextType
from tiltmeter.language_codes import get_base_code


@dataclass(frozen=True, slots=True)
class RewriteRule:
    """A regular expression that repairs texts of a language. If `sure` is false, the change is only proposed.

    `kinds` are the types of text to which the rule applies; empty means all types.
    """

    name: str
    pattern: re.Pattern[str]
    replacement: str
    reason: str
    kinds: tuple[TextType, ...] = ()
    sure: bool = True


@dataclass(frozen=True, slots=True)
class SynonymRule:
    """The preferred term for a source term, and the words that the term replaces in contexts.

    `forms` and `plural` map each replaced word to the form of the term that replaces it. `plural` is used if the source
    term is plural. `gender` is the gender of the term. `genders` maps replaced words to their gender, if it differs
    from the gender of the term.
    """

    source: str
    term: str
    gender: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)
    plural: Mapping[str, str] = field(default_factory=dict)
    genders: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """The repair rules of one language.

    `capital_nouns` is true if nouns begin with a capital. `gender_in_plural` is true if the gender of a noun also
    changes other words in the plural. `space_before` has the punctuation marks that need a space before them.
    `articles` maps a change of gender, such as "n>m" (neuter to masculine), and an article to the possible articles
    after the change. `outer_words` are articles and prepositions, which are not a part of a term. `endings` are groups
    of endings; forms of one word that differ only in gender or number have two endings of one group.
    """

    capital_nouns: bool = False
    gender_in_plural: bool = True
    space_before: str = ""
    rewrites: tuple[RewriteRule, ...] = ()
    synonyms: Mapping[str, SynonymRule] = field(default_factory=dict)
    articles: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    outer_words: frozenset[str] = frozenset()
    endings: tuple[frozenset[str], ...] = ()


@cache
def load_rules(language: str) -> LanguageRules:
    """Return the repair rules of a language, ignoring its region; default rules if the language has no file.

    >>> load_rules("de-AT").capital_nouns, load_rules("eo").capital_nouns
    (True, False)
    """
    path = files("tiltmeter.making.repair") / "rules" / f"{get_base_code(language)}.toml"
    if not path.is_file():
        return LanguageRules()
    return parse_rules(path.read_text(encoding="utf-8"), path.name)


def parse_rules(text: str, name: str) -> LanguageRules:
    """Parse repair rules in TOML; `name` is the name of the file in error messages."""
    try:
        return _build_rules(tomllib.loads(text))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, re.error) as error:
        raise DataError(f"{name} has invalid repair rules ({error}); see docs/how-to/repair.md.") from error


def _build_rules(table: dict[str, Any]) -> LanguageRules:
    synonyms = [_parse_synonym(entry) for entry in table.get("synonym", ())]
    articles = {
        change: {article: tuple(become) for article, become in entries.items()}
        for change, entries in table.get("articles", {}).items()
    }
    return LanguageRules(
        capital_nouns=bool(table.get("capital_nouns", False)),
        gender_in_plural=bool(table.get("gender_in_plural", True)),
        space_before=str(table.get("space_before", "")),
        rewrites=tuple(_parse_rewrite(entry) for entry in table.get("rewrite", ())),
        synonyms={synonym.source.casefold(): synonym for synonym in synonyms},
        articles=articles,
        outer_words=frozenset(table.get("outer_words", ())),
        endings=tuple(frozenset(group) for group in table.get("endings", ())),
    )


def _parse_rewrite(entry: dict[str, Any]) -> RewriteRule:
    return RewriteRule(
        entry["name"],
        re.compile(entry["pattern"]),
        entry["replacement"],
        entry["reason"],
        tuple(entry.get("in", ())),
        bool(entry.get("sure", True)),
    )


def _parse_synonym(entry: dict[str, Any]) -> SynonymRule:
    mappings = {name: dict(entry.get(name, {})) for name in ("forms", "plural", "genders")}
    return SynonymRule(entry["source"], entry["term"], entry.get("gender", ""), **mappings)
