"""Splitting of articles of all formats into sentences."""

import re
from collections.abc import Iterator

from tiltmeter.training.articles import Article
from tiltmeter.training.articles_html import extract_html_blocks
from tiltmeter.training.sentences import split_sentences

_BLANK_LINES = re.compile(r"\n\s*\n")


def split_article(article: Article) -> Iterator[str]:
    """Return all sentences of an article in order, including sentences that are too short for pairs."""
    match article.markup:
        case "sentences":
            return iter(article.content)
        case "html":
            blocks = [block for text in article.content for block in extract_html_blocks(text)]
        case "wikitext":
            from tiltmeter.training.articles_wikipedia import extract_wikitext_blocks

            blocks = [block for text in article.content for block in extract_wikitext_blocks(text, article.prefixes)]
        case "lines":
            blocks = [line for text in article.content for line in text.splitlines()]
        case "wrapped text":
            blocks = [block for text in article.content for block in _BLANK_LINES.split(text)]
    return split_sentences(blocks, article.language)
