"""Articles, and the protocol of their sources."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

# How the content of an article becomes sentences: `articles_text.py`.
Markup = Literal["wrapped text", "lines", "html", "wikitext", "sentences"]


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
