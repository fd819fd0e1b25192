"""Articles from a Wikipedia dump (`*-pages-articles.xml.bz2`), and extraction of text from wikitext."""

import bz2
import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast
from xml.etree import ElementTree

from tiltmeter.errors import DataError
from tiltmeter.training.articles import Article, UnreadableArticleError

if TYPE_CHECKING:
    from mwparserfromhell.wikicode import Wikicode

# Tags that are skipped with all their content.
# fmt: off
_OMITTED_TAGS = frozenset({
    "ce", "chem", "code", "gallery", "graph", "hiero", "imagemap", "inputbox", "mapframe", "maplink", "math", "pre",
    "ref", "references", "score", "section", "source", "style", "syntaxhighlight", "table", "templatestyles",
    "timeline",
})
# fmt: on
# The keys of the namespaces of files and categories. These keys are equal in all languages.
_OMITTED_NAMESPACES = ("6", "14")
_MAGIC_WORDS = re.compile(r"__[A-Z]+__")


@dataclass(frozen=True)
class DumpArticles:
    """The articles of a dump: the pages of the main namespace without redirects."""

    path: Path
    language: str

    @property
    def name(self) -> str:
        """The path of the dump."""
        return str(self.path)

    def count_articles(self) -> None:
        """Return None, because the number of articles is unknown before the dump is read."""
        return

    def read_articles(self) -> Iterator[Article]:
        """Yield the articles in the order of the dump; only one page is in memory at a time."""
        pages = 0
        try:
            with self._open_dump() as file:
                for page, prefixes in _read_pages(file):
                    pages += 1
                    id, title = page.findtext("{*}id") or "", page.findtext("{*}title") or ""
                    text = page.findtext("{*}revision/{*}text") or ""
                    # The language is part of the group, because a page number belongs to different articles in
                    # different languages.
                    group, location = f"{self.language}/{id}", f"{self.path}, page {title!r}"
                    yield Article(id, self.language, group, location, "wikitext", (text,), prefixes)
        except (ElementTree.ParseError, EOFError, OSError) as error:
            raise DataError(f"{self.path} is not a complete Wikipedia dump ({error}); download it again.") from error
        if not pages:
            raise DataError(f"{self.path} has no articles; give a dump whose name ends in pages-articles.xml.bz2.")

    def _open_dump(self) -> IO[bytes]:
        match self.path.suffix:
            case ".bz2":
                return bz2.open(self.path)
            case ".gz":
                return cast(IO[bytes], gzip.open(self.path))
        return self.path.open("rb")


def _read_pages(file: IO[bytes]) -> Iterator[tuple[ElementTree.Element, frozenset[str]]]:
    prefixes = frozenset({"category", "file", "image"})
    parsed = ElementTree.iterparse(file, events=("start", "end"))
    _, root = next(parsed)
    for event, element in parsed:
        if event == "start":
            continue
        match element.tag.rpartition("}")[2]:
            case "siteinfo":
                names = element.iterfind("{*}namespaces/{*}namespace")
                prefixes |= {(name.text or "").lower() for name in names if name.get("key") in _OMITTED_NAMESPACES}
            case "page":
                if element.findtext("{*}ns") == "0" and element.find("{*}redirect") is None:
                    yield element, prefixes
                root.clear()


def extract_wikitext_blocks(text: str, prefixes: frozenset[str] = frozenset({"category", "file"})) -> list[str]:
    """Return the paragraphs and list items of wikitext, without headings, templates, tables, references and files.

    >>> text = "'''Oslo''' is a [[city]].<ref>A book.</ref>\\n[[File:Map.png|A map.]]\\n* A [[river|brook]]."
    >>> extract_wikitext_blocks(text)
    ['Oslo is a city.', 'A brook.']
    """
    import mwparserfromhell
    from mwparserfromhell.parser import ParserError

    try:
        plain = "".join(_extract_texts(mwparserfromhell.parse(text), prefixes))
    except ParserError as error:
        raise UnreadableArticleError from error
    return [line.strip() for line in _MAGIC_WORDS.sub("", plain).splitlines() if line.strip()]


def _extract_texts(code: "Wikicode", prefixes: frozenset[str]) -> Iterator[str]:
    """Yield the visible text of parsed wikitext in pieces."""
    from mwparserfromhell.nodes import ExternalLink, HTMLEntity, Tag, Text, Wikilink

    for node in code.nodes:
        if isinstance(node, Text):
            yield str(node.value)
        elif isinstance(node, Wikilink):
            prefix, colon, _ = str(node.title).partition(":")
            if not colon or prefix.strip().lower() not in prefixes:
                yield from _extract_texts(node.title if node.text is None else node.text, prefixes)
        elif isinstance(node, ExternalLink) and node.title is not None:
            yield from _extract_texts(node.title, prefixes)
        elif isinstance(node, HTMLEntity):
            yield str(node.normalize())
        elif isinstance(node, Tag):
            name = str(node.tag).strip().lower()
            if name in ("br", "hr", "p", "div", "blockquote"):
                yield "\n"
            if name not in _OMITTED_TAGS and node.contents is not None:
                yield from _extract_texts(node.contents, prefixes)
