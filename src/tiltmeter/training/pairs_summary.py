"""What pairs were made of: counts, warnings, versions."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from rich.table import Table

import tiltmeter

# Warn if this share of a language's sentences is in another language.
_MUCH_OTHER = 0.1
# Warn if this share of them is English in another language.
_MUCH_ENGLISH = 0.01
# Warn if fewer of a language's articles than this share exist in another language.
_FEW_SHARED = 0.5
_PACKAGES = ("mwparserfromhell", "py3langid", "pyarrow", "selectolax", "sentencex")


@dataclass
class LanguageCounts:
    """The counts of one language. `usable` sentences are long enough; those `kept` are left after all checks."""

    articles: int = 0
    held_out_articles: int = 0
    too_short_articles: int = 0
    unreadable_articles: int = 0
    shared_articles: int = 0
    sentences: int = 0
    usable: int = 0
    shortened: int = 0
    distinct: int = 0
    recurring: int = 0
    same_as_english: int = 0
    english: int = 0
    other_language: int = 0
    kept: int = 0
    train_pairs: int = 0
    train_pairs_left_out: int = 0
    held_out_pairs: int = 0
    language_checked: bool = True

    @property
    def english_share(self) -> float:
        """The share of usable sentences that are English by identity or by the language check."""
        return (self.same_as_english + self.english) / self.usable if self.usable else 0.0


@dataclass
class PairsSummary:
    """The contents of `summary.json`; nothing in it depends on time, machine or order of files."""

    languages: dict[str, LanguageCounts]
    settings: dict[str, Any]
    sources: list[dict[str, Any]]
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        """The summary as JSON."""
        versions = {"tiltmeter": tiltmeter.__version__, **{name: version(name) for name in _PACKAGES}}
        return json.dumps({**asdict(self), "versions": versions}, ensure_ascii=False, indent=1) + "\n"


# What the table shows, in this order.
_ROWS = {
    "articles": "articles",
    "held_out_articles": "  held out",
    "shared_articles": "  in another language, too",
    "too_short_articles": "  with fewer than two usable sentences",
    "sentences": "sentences",
    "usable": "  long enough",
    "distinct": "  distinct",
    "recurring": "  dropped: recurring",
    "same_as_english": "  dropped: the same in English",
    "english": "  dropped: English by language check",
    "other_language": "  in another language (kept)",
    "kept": "  kept",
    "train_pairs": "training pairs",
    "train_pairs_left_out": "  left out for equal parts",
    "held_out_pairs": "held-out pairs",
}


def build_summary_table(summary: PairsSummary) -> Table:
    """The counts as a table, a column per language."""
    table = Table("", *summary.languages, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, title in _ROWS.items():
        table.add_row(title, *(f"{getattr(counts, name):,}" for counts in summary.languages.values()))
    return table


def find_warnings(languages: dict[str, LanguageCounts]) -> Iterable[str]:
    """Sentences about what a user should know before training."""
    for language, counts in languages.items():
        if counts.unreadable_articles:
            yield f"{language}: {counts.unreadable_articles:,} articles with unreadable markup were left out."
        if not counts.language_checked:
            yield f"{language}: the language of sentences was not checked."
        if counts.english_share > _MUCH_ENGLISH:
            count = counts.same_as_english + counts.english
            yield f"{language}: {count:,} sentences ({counts.english_share:.1%}) are English and were dropped."
        others = counts.other_language / counts.usable if counts.usable else 0.0
        if others > _MUCH_OTHER:
            yield f"{language}: {others:.1%} of the sentences look like another language; is the source right?"
    if len(languages) > 1:
        for language, counts in languages.items():
            if counts.shared_articles < _FEW_SHARED * counts.articles:
                yield (
                    f"{language}: only {counts.shared_articles:,} of {counts.articles:,} articles have the id of an "
                    "article in another language, so the split cannot keep translations of an article on one side."
                )
