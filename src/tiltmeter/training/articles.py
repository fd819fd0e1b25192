"""The class of articles, and the protocol that sources of articles implement."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

# The format of an article's content. It determines how `articles_text.py` splits the content into sentences.
Markup = Literal["wrapped text", "lines", "html", "wikitext", "sentences"]


@dataclass(frozen=True)
class Article:
    """An article before it is split into sentences.

    `group` is equal for all translations of an article. `location` says in messages where the article is, for example a
    file and row.
    """

    id: str
    language: str
    group: str
    location: str
    markup: Markup
    content: tuple[str, ...]
    # Used only for wikitext: the prefixes of links that are not text, such as `File`.
    prefixes: frozenset[str] = frozenset()


class UnreadableArticleError(Exception):
    """The markup of an article cannot be parsed. The article is left out, and the summary counts it."""


class ArticleSource(Protocol):
    """A source of articles."""

    @property
    def name(self) -> str:
        """The name of the source as given on the command line."""

    @property
    def language(self) -> str | None:
        """The language of all articles; None if each article states its own language."""

    def count_articles(self) -> int | None:
        """Return the number of articles; None if the number is unknown before the articles are read."""

    def read_articles(self) -> Iterator[Article]:
        """Yield all articles."""
