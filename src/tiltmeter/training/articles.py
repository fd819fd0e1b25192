"""Articles, and the protocol of their sources."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

# The format of the content of an article; `articles_text.py` splits it into sentences.
Markup = Literal["wrapped text", "lines", "html", "wikitext", "sentences"]


@dataclass(frozen=True)
class Article:
    """An article before it is split into sentences.

    `group` is the same for all translations of an article; `location` is its place in messages.
    """

    id: str
    language: str
    group: str
    location: str
    markup: Markup
    content: tuple[str, ...]
    # Only for wikitext: the prefixes of links that are not text, such as `File`.
    prefixes: frozenset[str] = frozenset()


class UnreadableArticleError(Exception):
    """The markup of an article cannot be parsed; the article is omitted and counted."""


class ArticleSource(Protocol):
    """A source of articles."""

    @property
    def name(self) -> str:
        """The name of the source on the command line."""

    @property
    def language(self) -> str | None:
        """The language of all articles; None if each article has its own."""

    def count(self) -> int | None:
        """Return the number of articles; None if it is unknown before they are read."""

    def read(self) -> Iterator[Article]:
        """Yield all articles."""
