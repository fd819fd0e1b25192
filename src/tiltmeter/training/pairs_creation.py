"""Creation of a folder of sentence pairs from articles."""

import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from tiltmeter.errors import DataError, TiltmeterError, UsageError
from tiltmeter.files import create_temporary_folder, make_readable, write_text
from tiltmeter.progress.progress import Progress, ReportProgress, ShowProgress, hide_progress
from tiltmeter.training.articles import Article, ArticleSource
from tiltmeter.training.articles_preparation import ArticlePreparation, PreparedArticle
from tiltmeter.training.language_check import CONFIDENCE, create_language_check
from tiltmeter.training.pairs_files import HELD_OUT, SUMMARY, TRAIN, write_pairs
from tiltmeter.training.pairs_store import PairStore
from tiltmeter.training.pairs_summary import LanguageCounts, PairsSummary, list_warnings
from tiltmeter.training.sentences import MAX_CHARACTERS, MIN_WORDS

Parts = Literal["equal", "all"]


@dataclass(frozen=True)
class PairOptions:
    """The options for making sentence pairs.

    `held_out` is the share of articles for evaluation. With `parts` "equal", all languages have equally many training
    pairs. `limit` is the maximum number of articles from each source. `check_language`: detect the language of each
    sentence, and leave out English sentences in articles of other languages.
    """

    held_out: float = 0.1
    parts: Parts = "equal"
    limit: int | None = None
    seed: int = 0
    check_language: bool = True


def make_pairs(
    sources: Sequence[ArticleSource],
    out: Path,
    options: PairOptions,
    *,
    processes: int = 1,
    watch: ShowProgress = hide_progress,
) -> PairsSummary:
    """Write sentence pairs to the folder `out`; the folder appears only when all its files are complete."""
    if not 0 < options.held_out < 1:
        raise UsageError(f"--held-out {options.held_out} is not between 0 and 1; give a share such as 0.1.")
    with _create_folder(out) as folder:
        scratch = folder / "scratch.sqlite"
        store = PairStore(scratch, held_out=options.held_out)
        try:
            with watch("articles") as report:
                summary = _fill_store(store, sources, options, processes, report)
            with watch("recurring sentences"):
                store.drop_sentences()
            with watch("pairs"):
                store.pair_sentences()
                limit = _count_pairs(store, summary, options)
            with watch("files"):
                write_pairs(folder / TRAIN, store.read_pairs(held_out=False, limit=limit))
                write_pairs(folder / HELD_OUT, store.read_pairs(held_out=True, limit=2**62))
        finally:
            store.close()
        summary.warnings = [*list_warnings(summary.languages)]
        write_text(folder / SUMMARY, summary.to_json())
        scratch.unlink()
    return summary


def _fill_store(
    store: PairStore, sources: Sequence[ArticleSource], options: PairOptions, processes: int, report: ReportProgress
) -> PairsSummary:
    """Store the sentences of all articles, and return a summary with their counts."""
    counts: dict[str, LanguageCounts] = {}
    contents = [0] * len(sources)
    articles = [0] * len(sources)
    totals = [source.count_articles() for source in sources]
    total = None if None in totals or options.limit else sum(filter(None, totals))
    languages = frozenset(source.language for source in sources if source.language)
    preparation = ArticlePreparation(options.seed, languages, options.check_language)

    def read_source(index: int) -> Iterator[PreparedArticle]:
        limited: Iterable[Article] = islice(
            sources[index].read_articles(), options.limit and min(options.limit, sys.maxsize)
        )
        for article in preparation.prepare_articles(limited, processes):
            articles[index] += 1
            contents[index] = (contents[index] + article.content_number) % 2**64
            _count_article(counts.setdefault(article.language, LanguageCounts()), article)
            report(Progress(sum(articles), total))
            yield article

    store.add_articles(chain.from_iterable(read_source(index) for index in range(len(sources))))
    for language, count in counts.items():
        count.language_checked = options.check_language and create_language_check(language, languages) is not None
    described = [
        {"name": source.name, "language": source.language, "articles": number, "digest": f"{content:016x}"}
        for source, number, content in zip(sources, articles, contents, strict=True)
    ]
    settings = {
        **asdict(options),
        "min_words": MIN_WORDS,
        "max_characters": MAX_CHARACTERS,
        "language_confidence": CONFIDENCE,
    }
    return PairsSummary(dict(sorted(counts.items())), settings, described)


def _count_article(counts: LanguageCounts, article: PreparedArticle) -> None:
    counts.articles += 1
    counts.sentences += article.sentences
    counts.usable += len(article.usable)
    counts.shortened += article.shortened
    counts.other_language += article.other_language
    counts.unreadable_articles += not article.is_readable
    counts.too_short_articles += len(article.usable) < 2


def _count_pairs(store: PairStore, summary: PairsSummary, options: PairOptions) -> int:
    """Fill in the counts of the summary, and return the maximum number of training pairs per language and label."""
    distinct, dropped, shared = (
        store.count_distinct_sentences(),
        store.count_dropped_sentences(),
        store.count_shared_articles(),
    )
    train, held_out = store.count_pairs(held_out=False), store.count_pairs(held_out=True)
    articles = store.count_held_out_articles()
    for language, counts in summary.languages.items():
        for side, pairs in (("training", train), ("held-out", held_out)):
            if not pairs.get(language):
                raise DataError(_explain_no_pairs(language, side, counts, articles.get(language, 0)))
    limit = min(train.values()) if options.parts == "equal" else max(train.values())
    for language, counts in summary.languages.items():
        counts.held_out_articles = articles[language]
        counts.shared_articles = shared.get(language, 0)
        counts.distinct = distinct[language]
        counts.recurring = dropped.get((language, "recurring"), 0)
        counts.same_as_english = dropped.get((language, "same as English"), 0)
        counts.english = dropped.get((language, "English"), 0)
        counts.kept = counts.usable - counts.recurring - counts.same_as_english - counts.english
        counts.train_pairs = 2 * min(limit, train[language])
        counts.train_pairs_left_out = 2 * train[language] - counts.train_pairs
        counts.held_out_pairs = 2 * held_out[language]
    return limit


def _explain_no_pairs(language: str, side: str, counts: LanguageCounts, held_out: int) -> str:
    number = held_out if side == "held-out" else counts.articles - held_out
    return (
        f"There are no {side} pairs in {language}: {counts.articles:,} articles ({number:,} {side}) have "
        f"{counts.usable:,} sentences of {MIN_WORDS} or more words. Pairs need at least two articles and consecutive "
        "sentences that occur only once; give more articles."
    )


@contextmanager
def _create_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder; rename it to `out` at the end of the context, or delete it after an exception."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not empty; name another folder with --out, or delete it.")
    try:
        with create_temporary_folder(out.parent) as part:
            yield part
            make_readable(part)
            if out.exists():
                out.rmdir()
            part.rename(out)
    except BrokenProcessPool as error:
        raise TiltmeterError(
            "A process was killed, probably for lack of memory; try again with fewer --processes."
        ) from error
    except (OSError, sqlite3.Error) as error:
        raise TiltmeterError(f"{out} cannot be written ({error}); name another folder, or free disk space.") from error
