"""Translations that somebody else made: a CSV file with the columns `from` and `to`, or lines `source ||| translation`.

The second is the format of the translations released with WinoMT; the name of such a file ends in `.txt`.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.datasets.gest_pair_builder import read_translations
from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.errors import DataError, ModelError, UsageError
from tiltmeter.text_files import expand_home

_DIVIDER = " ||| "


@dataclass(frozen=True, slots=True)
class TranslationFile:
    """The translations of a file by source, both normalised by `normalize_text`.

    `repeated` is the number of rows whose source occurs before; the last translation is used.
    """

    translations: dict[str, str]
    repeated: int

    def count_matches(self, sentences: Iterable[str]) -> int:
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
    given = _read_lines(path) if path.suffix == ".txt" else read_translations(path)
    rows = [(normalize_text(source), normalize_text(translation)) for source, translation in given]
    translations = {source: translation for source, translation in rows if translation}
    if not translations:
        raise DataError(f"{path} has no translation: each row should have a sentence in `from` and another in `to`.")
    return TranslationFile(translations, sum(bool(translation) for _, translation in rows) - len(translations))


def _read_lines(path: Path) -> list[tuple[str, str]]:
    """The sources and translations of a file with a pair on each line."""
    try:
        lines = read_text(path).split("\n")
    except BrokenFileError as error:
        raise DataError(f"{path} {error}.") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        source, divider, translation = line.partition(_DIVIDER)
        if line.strip() and not divider:
            raise DataError(f"{path}, line {number}: should be a sentence, {_DIVIDER.strip()} and its translation.")
        if divider:
            rows.append((source, translation))
    return rows


class FileTranslator:
    """A file of translations in place of a translation system."""

    price = None
    batch_size = 1000

    def __init__(self, path: str) -> None:
        self.path = expand_home(path)
        if not self.path.is_file():
            raise UsageError(f"There is no file of translations {path}.")
        self.name = f"file:{self.path.name}"
        self.key = f"file {get_sha256(self.path)}"
        self._translations = read_translation_file(self.path).translations

    def check(self, language: str) -> None:
        """No check: a file does not say what language it is in."""

    def with_source_language(self, language: str) -> "FileTranslator":  # noqa: ARG002 - as in `check`
        """The same file."""
        return self

    def list_untranslatable(self, texts: Iterable[str]) -> list[str]:
        """The texts that the file has no translation of."""
        return [text for text in texts if normalize_text(text) not in self._translations]

    def translate(self, texts: Sequence[str], language: str) -> list[str]:  # noqa: ARG002 - the file has one language
        """The translations in the file."""
        if missing := self.list_untranslatable(texts):
            raise ModelError(f"{self.path} has no translation of {missing[0]!r}.")
        return [self._translations[normalize_text(text)] for text in texts]
