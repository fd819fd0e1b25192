"""Translations that somebody else made: a CSV file with the columns `from` and `to`."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.datasets.build_pairs import read_translations
from tiltmeter.errors import DataError


@dataclass(frozen=True, slots=True)
class TranslationFile:
    """The translations of a file by source, both normalised by `normalize_text`.

    `repeated` is the number of rows whose source occurs before; the last translation is used.
    """

    translations: dict[str, str]
    repeated: int

    def matched(self, sentences: Iterable[str]) -> int:
        """The number of sources among these sentences."""
        return len(self.translations.keys() & set(map(normalize_text, sentences)))


def normalize_text(text: str) -> str:
    """The text in Unicode normalisation form C, with single spaces.

    >>> normalize_text(" Cafe\\u0301  at noon ")
    'Café at noon'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def read_translation_file(path: Path) -> TranslationFile:
    """Read a file of translations, ignoring rows without a translation."""
    rows = [(normalize_text(source), normalize_text(translation)) for source, translation in read_translations(path)]
    translations = {source: translation for source, translation in rows if translation}
    if not translations:
        raise DataError(f"{path} has no translation: each row should have a sentence in `from` and another in `to`.")
    return TranslationFile(translations, sum(bool(translation) for _, translation in rows) - len(translations))
