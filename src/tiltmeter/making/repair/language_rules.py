"""What repair has to know about a language, from `rules/xx.toml`; a language without a file has the defaults.

capital_nouns   whether nouns begin with a capital wherever they stand
gender_in_plural
                whether articles and adjectives differ by gender in the plural
space_before    punctuation marks that have a space before them
[[rewrite]]     name, pattern and replacement (regular expressions), reason; in = kinds of text (all if left out);
                sure = false to propose the rewriting only
[[synonym]]     one term chosen for a source term: source, term, gender, forms (word in a context → word to write),
                plural (the same, where the source is plural), genders (gender of a replaced word, if another)
[articles]      "n>m": by article, what it can become where a synonym has another gender
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tiltmeter.errors import DataError
from tiltmeter.forms import TextType
from tiltmeter.text_files import read_text


@dataclass(frozen=True, slots=True)
class RewriteRule:
    """A regular expression that mends translations into a language."""

    name: str
    pattern: re.Pattern[str]
    replacement: str
    reason: str
    kinds: tuple[TextType, ...] = ()
    sure: bool = True


@dataclass(frozen=True, slots=True)
class SynonymRule:
    """The term chosen for a source term, and the words that it replaces in contexts."""

    source: str
    term: str
    gender: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)
    plural: Mapping[str, str] = field(default_factory=dict)
    genders: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """The rules of one language."""

    capital_nouns: bool = False
    gender_in_plural: bool = True
    space_before: str = ""
    rewrites: tuple[RewriteRule, ...] = ()
    synonyms: Mapping[str, SynonymRule] = field(default_factory=dict)
    articles: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)


@cache
def load_rules(language: str) -> LanguageRules:
    """The rules of a language, without those of its region: `pt-BR` has those of `pt`.

    >>> load_rules("de-AT").capital_nouns, load_rules("eo").capital_nouns
    (True, False)
    """
    path = files("tiltmeter.making.repair") / "rules" / f"{language.split('-')[0].lower()}.toml"
    if not path.is_file():
        return LanguageRules()
    return parse_rules(path.read_text(encoding="utf-8"), path.name)


def read_rules(path: Path) -> LanguageRules:
    """The rules in a TOML file of the user."""
    return parse_rules(read_text(path), str(path))


def parse_rules(text: str, name: str) -> LanguageRules:
    """The rules in a TOML text; `name` is that of its file."""
    try:
        return _build_rules(tomllib.loads(text))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, re.error) as error:
        raise DataError(f"{name} is not a file of repair rules: {error}; see docs/how-to/repair.md.") from error


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
