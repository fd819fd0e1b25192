"""Articles, and where they come from: JSONL files, folders, data sets on the hub, Wikipedia dumps."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tiltmeter.errors import DataError, UsageError
from tiltmeter.text_files import expand_home

# How the content of an article becomes sentences: `articles_text.py`.
Markup = Literal["wrapped text", "lines", "html", "wikitext", "sentences"]

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")


@dataclass(frozen=True)
class Article:
    """An article as its source has it, before sentences are split.

    `group` is the same for one article in several languages; `location` names it in messages.
    """

    id: str
    language: str
    group: str
    location: str
    markup: Markup
    content: tuple[str, ...]
    # The prefixes of links that are not text, such as `File`; only of wikitext.
    prefixes: frozenset[str] = frozenset()


class UnreadableArticleError(Exception):
    """The markup of an article cannot be parsed; the article is counted and left out."""


class ArticleSource(Protocol):
    """Where articles come from."""

    @property
    def name(self) -> str:
        """The source as it was given."""

    @property
    def language(self) -> str | None:
        """The language of all articles; None if every article has its own."""

    def count(self) -> int | None:
        """The number of articles, if it is known before they are read."""

    def read(self) -> Iterator[Article]:
        """All articles, one after the other."""


def open_sources(given: Sequence[str]) -> list[ArticleSource]:
    """The sources of `LANGUAGE=SOURCE` or, for a JSONL file whose rows have a language, `SOURCE`."""
    if not given:
        raise UsageError("There are no articles; name them as in --articles en=help/en/ --articles de=help/de/.")
    if twice := sorted({one for one in given if given.count(one) > 1}):
        raise UsageError(f"--articles {twice[0]} is given twice.")
    return [_open_source(one) for one in given]


def _open_source(given: str) -> ArticleSource:
    from tiltmeter.training.articles_files import FolderArticles, JsonlArticles

    language, name = _parse_source(given)
    if language is None:
        if not name.endswith(".jsonl"):
            raise UsageError(
                f"--articles {given} has no language; write it as in --articles en={given}. Only rows of a .jsonl file "
                "can name their language themselves."
            )
        return JsonlArticles(_find_existing_path(name), None)
    if name.startswith("hf:"):
        from tiltmeter.training.articles_hub import HubArticles

        return HubArticles(name, language)
    path = _find_existing_path(name)
    if path.is_dir():
        return FolderArticles(path, language)
    if name.endswith(".jsonl"):
        return JsonlArticles(path, language)
    if re.search(r"\.xml(\.bz2|\.gz)?$", name):
        from tiltmeter.training.articles_wikipedia import DumpArticles

        return DumpArticles(path, language)
    raise UsageError(
        f"{name} is not a source of articles; give a .jsonl file, a folder of text or HTML files, a Wikipedia dump "
        "(.xml.bz2), or a data set as hf:NAME:CONFIG."
    )


def _parse_source(given: str) -> tuple[str | None, str]:
    language, equals, name = given.partition("=")
    if equals and _LANGUAGE.fullmatch(language):
        return language, name
    return None, given


def _find_existing_path(name: str) -> Path:
    path = expand_home(name)
    try:
        if not path.exists():
            raise DataError(f"{name} does not exist; give a file or a folder of articles.")
    except OSError as error:  # a link to itself, or a name that is too long
        raise DataError(f"{name} cannot be read: {error.strerror}.") from error
    if not path.is_dir() and not path.is_file():  # a pipe would be waited for, and a device has no end
        raise DataError(f"{name} is neither a file nor a folder; give a file or a folder of articles.")
    return path
