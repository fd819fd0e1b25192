"""Translations that somebody else made: a CSV file with the columns `from` and `to`."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.datasets.build_pairs import read_translations
from tiltmeter.errors import DataError


@dataclass(frozen=True, slots=True)
class TranslationFile:
    """The translations of a file by their sources, in the form that `normalize_text` gives them.

    `repeated` counts the rows whose source was there before: the last one counts.
    """

    translations: dict[str, str]
    repeated: int

    def matched(self, sentences: Iterable[str]) -> int:
        """How many sources are among these sentences."""
        return len(self.translations.keys() & set(map(normalize_text, sentences)))


def normalize_text(text: str) -> str:
    """The text in Unicode's composed form, with single spaces: what is the same to a reader is the same here.

    >>> normalize_text(" Cafe\\u0301  at noon ")
    'Café at noon'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def read_translation_file(path: Path) -> TranslationFile:
    """Read a file of translations; a row without a translation is as good as no row."""
    rows = [(normalize_text(source), normalize_text(translation)) for source, translation in read_translations(path)]
    found = {source: translation for source, translation in rows if translation}
    if not found:
        raise DataError(f"{path} has no translation: each row should have a sentence in `from` and another in `to`.")
    return TranslationFile(found, sum(bool(translation) for _, translation in rows) - len(found))
