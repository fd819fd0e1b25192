"""The summary of a folder of sentence pairs: counts, settings, warnings and versions."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from rich.table import Table

import tiltmeter

# If a larger share of a language's sentences seems to be in another language, a warning is given.
_MAX_OTHER_SHARE = 0.1
# If a larger share of the sentences of a language other than English is English, a warning is given.
_MAX_ENGLISH_SHARE = 0.01
# If a smaller share of a language's articles also exists in another language, a warning is given.
_MIN_SHARED = 0.5
_PACKAGES = ("mwparserfromhell", "py3langid", "pyarrow", "selectolax", "sentencex")


@dataclass
class LanguageCounts:
    """The counts of one language. `usable` sentences are long enough; `kept` sentences have passed all checks."""

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
        """The share of usable sentences that are English: equal to an English sentence, or classified as English."""
        return (self.same_as_english + self.english) / self.usable if self.usable else 0.0


@dataclass
class PairsSummary:
    """The content of `summary.json`, which does not depend on the time, the machine or the order of files."""

    languages: dict[str, LanguageCounts]
    settings: dict[str, Any]
    sources: list[dict[str, Any]]
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        """Return the summary as JSON text."""
        versions = {"tiltmeter": tiltmeter.__version__, **{name: version(name) for name in _PACKAGES}}
        return json.dumps({**asdict(self), "versions": versions}, ensure_ascii=False, indent=1) + "\n"


# The fields of `LanguageCounts` in the table, and the label of each row.
_ROWS = {
    "articles": "articles",
    "held_out_articles": "  held out",
    "shared_articles": "  also in another language",
    "too_short_articles": "  with fewer than two usable sentences",
    "sentences": "sentences",
    "usable": "  long enough",
    "distinct": "  distinct",
    "recurring": "  dropped: repeated",
    "same_as_english": "  dropped: same as an English sentence",
    "english": "  dropped: detected as English",
    "other_language": "  in another language (kept)",
    "kept": "  kept",
    "train_pairs": "training pairs",
    "train_pairs_left_out": "  omitted for equal numbers per language",
    "held_out_pairs": "held-out pairs",
}


def build_summary_table(summary: PairsSummary) -> Table:
    """Return the counts as a table with one row for each count and one column for each language."""
    table = Table("", *summary.languages, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, title in _ROWS.items():
        table.add_row(title, *(f"{getattr(counts, name):,}" for counts in summary.languages.values()))
    return table


def list_warnings(languages: dict[str, LanguageCounts]) -> Iterable[str]:
    """Yield warnings about languages with unusual counts."""
    for language, counts in languages.items():
        if counts.unreadable_articles:
            yield f"{language}: {counts.unreadable_articles:,} articles with invalid markup were omitted."
        if not counts.language_checked:
            yield f"{language}: the check of the language of sentences was off or unavailable."
        if counts.english_share > _MAX_ENGLISH_SHARE:
            count = counts.same_as_english + counts.english
            yield f"{language}: {count:,} sentences ({counts.english_share:.1%}) are English and were dropped."
        other_share = counts.other_language / counts.usable if counts.usable else 0.0
        if other_share > _MAX_OTHER_SHARE:
            yield f"{language}: {other_share:.1%} of the sentences seem to be in another language; check the source."
    if len(languages) > 1:
        for language, counts in languages.items():
            if counts.shared_articles < _MIN_SHARED * counts.articles:
                yield (
                    f"{language}: only {counts.shared_articles:,} of {counts.articles:,} articles share their id with "
                    "an article in another language. If translations have different ids, give them the same `group`, "
                    "so that they are held out together."
                )
