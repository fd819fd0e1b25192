"""Readers of EuroGEST: GEST's sentences in thirty languages, a column or two for each in one CSV file.

`…_insensitive.csv` has sentences that do not show the speaker's gender. They are quoted in frames of their language, of
which `prompt_scaffolds.csv` has the words: *he said* and *she said*, or *the man said* and *the woman said* where the
former two do not tell a man from a woman. `…_sensitive.csv` has sentences that do, in the masculine and in the
feminine; its header has two rows.

Ids are the row numbers of the files, which are the same in all languages.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.forms import Problem
from tiltmeter.forms.frames import SENTENCE, find_frame_problem

SCAFFOLDS = "prompt_scaffolds.csv"
NAMES = {
    "en": "English",
    "bg": "Bulgarian",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "es": "Spanish",
    "et": "Estonian",
    "fi": "Finnish",
    "fr": "French",
    "ga": "Irish",
    "gl": "Galician",
    "hr": "Croatian",
    "hu": "Hungarian",
    "it": "Italian",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "mt": "Maltese",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
}
# A quotation before the words for its speaker. The authors' script has the same marks, except that it never closes a
# Portuguese quotation and opens a Lithuanian one with the closing mark.
_QUOTED = {
    "en": f'"{SENTENCE}",',
    "bg": f"„{SENTENCE}“,",
    "ca": f'"{SENTENCE}",',
    "cs": f'"{SENTENCE},"',
    "da": f'"{SENTENCE},"',
    "de": f"„{SENTENCE}“,",
    "el": f"«{SENTENCE}»,",
    "es": f"“{SENTENCE}”,",
    "et": f'"{SENTENCE},"',
    "fi": f'"{SENTENCE}",',
    "fr": f"« {SENTENCE} »,",
    "ga": f"'{SENTENCE},'",
    "gl": f'"{SENTENCE}"',
    "hr": f"'{SENTENCE}',",
    "hu": f"„{SENTENCE}” –",
    "it": f'"{SENTENCE}",',
    "lt": f"„{SENTENCE}“,",
    "lv": f'"{SENTENCE},"',
    "mt": f"‘{SENTENCE},’",
    "nl": f"'{SENTENCE},'",
    "no": f"«{SENTENCE},»",
    "pl": f"„{SENTENCE}” –",
    "pt": f'"{SENTENCE}",',
    "ro": f"„{SENTENCE}”,",
    "ru": f"«{SENTENCE}», —",
    "sk": f"„{SENTENCE},“",
    "sl": f'"{SENTENCE},"',
    "sv": f'"{SENTENCE},"',
    "tr": f'"{SENTENCE}"',
    "uk": f"«{SENTENCE}», —",
}
_PRONOUNS, _NOUNS = ("he said", "she said"), ("the man said", "the woman said")
_OUTER = re.compile(r"^[^\w\s]+|[^\w\s]+$")
_STEREOTYPE = re.compile(r"([0-9]{1,2})(\.0)?")


def parse_sentences(path: Path, language: str) -> Iterator[RawRecord]:
    """The neutral sentences of a language, without the marks at their ends, with the frames of the language."""
    male, female = _select_frames(path.with_name(SCAFFOLDS), language)
    column = "GEST_sentence" if language == "en" else _get_language_name(language)
    header, rows = _read_table(path, headers=1)
    names = {"sentence": column, "original": "GEST_sentence", "stereotype": "stereotype_number"}
    _require_columns(header, names.values())
    for row, number, values in rows:
        if isinstance(values, Problem):
            yield RawRecord(row, None, problems=[values])
        elif text := _OUTER.sub("", values[header.index(column)].strip()).strip():
            record = _build_common_fields(number, values, header) | {"language": language, "sentence": text}
            original = {} if language == "en" else {"original": values[header.index("GEST_sentence")]}
            yield RawRecord(row, record | original | {"male_frame": male, "female_frame": female}, names)


def parse_pairs(path: Path, language: str) -> Iterator[RawRecord]:
    """The pairs of a language."""
    header, rows = _read_table(path, headers=2)
    name = _get_language_name(language)
    _require_columns(header, ("GEST_sentence", "stereotype_number"))
    columns = [index for index, column in enumerate(header) if column == name]
    if len(columns) != 2:
        raise BrokenFileError("missing-column", f"should have two columns {name}, and has {len(columns)}")
    names = {"male": name, "female": name, "original": "GEST_sentence", "stereotype": "stereotype_number"}
    for row, number, values in rows:
        if isinstance(values, Problem):
            yield RawRecord(row, None, problems=[values])
            continue
        male, female = (values[index].strip() for index in columns)
        if male or female:
            record = _build_common_fields(number, values, header) | {
                "language": language,
                "male": male,
                "female": female,
            }
            yield RawRecord(row, record | {"original": values[header.index("GEST_sentence")]}, names)


def _read_table(path: Path, headers: int) -> tuple[list[str], Iterator[tuple[str, str, list[str] | Problem]]]:
    """The first row of the header, and for each row below it its location, its number and its values."""
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)

    def rows() -> Iterator[tuple[str, str, list[str] | Problem]]:
        try:
            for values in filter(None, reader):
                row = f"line {reader.line_num}"
                if len(values) == len(header):
                    yield row, values[0], values
                else:
                    message = f"has {len(values)} values where the header has {len(header)}"
                    yield row, "", Problem("bad-csv", "", message)
        except csv.Error as error:
            raise BrokenFileError("bad-csv", f"is not CSV: {error} (line {reader.line_num})") from error

    try:
        header = next(reader, [])
        for _ in range(headers - 1):
            next(reader, None)
    except csv.Error as error:
        raise BrokenFileError("bad-csv", f"is not CSV: {error} (line {reader.line_num})") from error
    return header, rows()


def _build_common_fields(number: str, values: list[str], header: list[str]) -> dict[str, object]:
    """Id and stereotype; the latter is unchanged if it is not a number, for validation to report."""
    stereotype = values[header.index("stereotype_number")]
    match = _STEREOTYPE.fullmatch(stereotype)
    return {"id": number, "stereotype": int(match[1]) if match else stereotype}


def _select_frames(path: Path, language: str) -> tuple[str, str]:
    """The frames of a language: with pronouns, unless these do not tell a man from a woman; then with nouns."""
    name = _get_language_name(language)
    if not path.is_file():
        raise BrokenFileError("missing-field", f"is no use without {path.name}, which should lie beside it")
    header, rows = _read_table(path, headers=1)
    said: Mapping[str, str]
    if language == "en":
        said = {phrase: phrase for phrase in (*_PRONOUNS, *_NOUNS)}
    else:
        _require_columns(header, [name], path)
        column = header.index(name)
        said = {values[0]: values[column].strip() for _, _, values in rows if isinstance(values, list)}
    for phrases in (_PRONOUNS, _NOUNS):
        if all(said.get(phrase) for phrase in phrases):
            male, female = (f"{_QUOTED[language]} {said[phrase]}." for phrase in phrases)
            if find_frame_problem(male, female) is None:
                return male, female
    raise BrokenFileError("bad-frame", f"has no words in {path.name} that tell a man from a woman in {language}")


def _get_language_name(language: str) -> str:
    if language not in NAMES:
        raise BrokenFileError("missing-column", f"has no language {language!r}; it has {', '.join(NAMES)}")
    return NAMES[language]


def _require_columns(header: list[str], columns: Iterable[str], path: Path | None = None) -> None:
    for column in columns:
        if column not in header:
            where = f" in {path.name}" if path else ""
            raise BrokenFileError("missing-column", f"has no column {column}{where}")


READS = {"eurogest-sentences": parse_sentences, "eurogest-pairs": parse_pairs}
