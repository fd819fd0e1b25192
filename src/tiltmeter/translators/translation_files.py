"""Read files of translations: CSV files with the columns `from` and `to`, or text files.

The name of a text file ends in `.txt`. Each of its lines is `source ||| translation`, as in the files of WinoMT.
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
    """The translations of a file, as a dictionary from source sentences to translations.

    Sources and translations are normalised with `normalize_text`. `repeated` is the number of rows whose source also
    occurs in an earlier row; if a source has several translations, the last one is used.
    """

    translations: dict[str, str]
    repeated: int

    def count_matches(self, sentences: Iterable[str]) -> int:
        """Return how many of these sentences have a translation in the file."""
        return len(self.translations.keys() & set(map(normalize_text, sentences)))


def normalize_text(text: str) -> str:
    """Return the text in Unicode normalisation form C; each run of white space becomes one space.

    >>> normalize_text(" Cafe\\u0301  at noon ")
    'Café at noon'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def read_translation_file(path: Path) -> TranslationFile:
    """Read a file of translations; rows without a translation are ignored."""
    given = _read_lines(path) if path.suffix == ".txt" else read_translations(path)
    rows = [(normalize_text(source), normalize_text(translation)) for source, translation in given]
    translations = {source: translation for source, translation in rows if translation}
    if not translations:
        raise DataError(
            f"{path} has no translation: each row needs a sentence in column `from` and a translation in column `to`."
        )
    return TranslationFile(translations, sum(bool(translation) for _, translation in rows) - len(translations))


def _read_lines(path: Path) -> list[tuple[str, str]]:
    try:
        lines = read_text(path).split("\n")
    except BrokenFileError as error:
        raise DataError(f"{path} {error}.") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        source, divider, translation = line.partition(_DIVIDER)
        if line.strip() and not divider:
            raise DataError(f"{path}, line {number}: the line should have the form `sentence{_DIVIDER}translation`.")
        if divider:
            rows.append((source, translation))
    return rows


class FileTranslator:
    """A translator that reads its translations from a file."""

    price = None
    batch_size = 1000

    def __init__(self, path: str) -> None:
        self.path = expand_home(path)
        if not self.path.is_file():
            raise UsageError(f"The file of translations {path} does not exist.")
        self.name = f"file:{self.path.name}"
        self.key = f"file {get_sha256(self.path)}"
        self._translations = read_translation_file(self.path).translations

    def check(self, language: str) -> None:
        """Accept every language, because the file does not name its language."""

    def with_source_language(self, language: str) -> "FileTranslator":  # noqa: ARG002 - the file has one direction
        """Return this translator unchanged, because the file has one fixed source language."""
        return self

    def list_untranslatable(self, texts: Iterable[str]) -> list[str]:
        """Return the texts without a translation in the file."""
        return [text for text in texts if normalize_text(text) not in self._translations]

    def translate(self, texts: Sequence[str], language: str) -> list[str]:  # noqa: ARG002 - the file has one language
        """Return the translations from the file; raise a ModelError if the file lacks a translation."""
        if missing := self.list_untranslatable(texts):
            raise ModelError(f"{self.path} has no translation of {missing[0]!r}; add the translation to this file.")
        return [self._translations[normalize_text(text)] for text in texts]
