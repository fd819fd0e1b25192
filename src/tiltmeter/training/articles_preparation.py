"""Preparation of articles: usable sentences and their random numbers, computed in one or several processes."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from multiprocessing import get_context
from typing import NamedTuple

from tiltmeter.language_codes import get_base_code
from tiltmeter.training.articles import Article, UnreadableArticleError
from tiltmeter.training.articles_text import split_article
from tiltmeter.training.language_check import create_language_check
from tiltmeter.training.sentences import MAX_CHARACTERS, compute_digest, select_usable_sentences

# Number of articles that a worker process gets at a time.
_BATCH_SIZE = 64


class PreparedSentence(NamedTuple):
    """A sentence that can be used in pairs; the random numbers depend only on seed, language, article and position."""

    position: int
    digest: int
    random_first: int
    random_second: int
    is_english: bool
    text: str


@dataclass(frozen=True)
class PreparedArticle:
    """The usable sentences of an article, and the article's counts for the summary."""

    id: str
    language: str
    location: str
    group_number: int
    side_number: int
    content_number: int
    usable: list[PreparedSentence]
    is_readable: bool
    sentences: int
    shortened: int
    other_language: int


@dataclass(frozen=True)
class ArticlePreparation:
    """The settings of the preparation, and the methods that prepare articles."""

    seed: int
    languages: frozenset[str]
    check_language: bool = True

    def prepare_article(self, article: Article) -> PreparedArticle:
        """Split an article into sentences; return the usable sentences and the counts."""
        check = create_language_check(article.language, self.languages) if self.check_language else None
        try:
            sentences, is_readable = [*split_article(article)], True
        except UnreadableArticleError:
            sentences, is_readable = [], False
        usable, shortened, other = [], 0, 0
        for sentence in select_usable_sentences(sentences):
            detected = check.other_language(sentence.text) if check else None
            shortened += len(sentence.text) < len(sentences[sentence.position]) > MAX_CHARACTERS
            is_english = detected == "en" != get_base_code(article.language)
            other += detected is not None and not is_english
            numbers = _draw_numbers(self.seed, article.language, article.id, str(sentence.position))
            number = compute_digest(sentence.text)
            usable.append(PreparedSentence(sentence.position, number, *numbers, is_english, sentence.text))
        return PreparedArticle(
            id=article.id,
            language=article.language,
            location=article.location,
            group_number=_draw_numbers(0, article.group)[0],
            side_number=_draw_numbers(self.seed, "side", article.group)[0],
            content_number=_draw_numbers(0, article.id, article.language, *article.content)[0],
            usable=usable,
            is_readable=is_readable,
            sentences=len(sentences),
            shortened=shortened,
            other_language=other,
        )

    def prepare_articles(self, articles: Iterable[Article], processes: int = 1) -> Iterator[PreparedArticle]:
        """Yield the prepared articles in the order of `articles`; only a few batches are in memory at a time."""
        if processes == 1:
            yield from map(self.prepare_article, articles)
            return
        rest = iter(articles)
        pending: deque[Future[list[PreparedArticle]]] = deque()
        # Processes are not forked, because a forked process could inherit a lock that another thread has.
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            while True:
                while len(pending) < 2 * processes and (batch := list(islice(rest, _BATCH_SIZE))):
                    pending.append(pool.submit(self._prepare_batch, batch))
                if not pending:
                    return
                yield from pending.popleft().result()

    def _prepare_batch(self, articles: list[Article]) -> list[PreparedArticle]:
        return [self.prepare_article(article) for article in articles]


def _draw_numbers(seed: int, *texts: str) -> tuple[int, int]:
    """Return two signed 64-bit integers that are computed from the seed and all texts."""
    hashed = blake2b(digest_size=16, key=str(seed).encode()[:64])
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
    digest = hashed.digest()
    return int.from_bytes(digest[:8], "big", signed=True), int.from_bytes(digest[8:], "big", signed=True)
