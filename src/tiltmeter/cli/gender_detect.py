"""`tiltmeter gender detect`: print the grammatical gender of the speaker of each sentence in a file."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.errors import DataError, UsageError
from tiltmeter.gender import LANGUAGES, SpeakerGender, check_language, find_speaker_gender
from tiltmeter.printable_text import format_json
from tiltmeter.text_files import read_bytes

SOURCES = ("rules", "stanza", "conllu")
# Names of files, and of columns in the first line, that show that a file is a table.
_TABLES = {".csv", ".tsv", ".xlsx", ".xls", ".ods", ".parquet"}
_COLUMNS = {"from", "to", "source", "target", "sentence", "translation", "text", "id", "stereotype", "male", "female"}


def gender(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A file with one sentence per line, or in CoNLL-U format; - is standard input."
        ),
    ],
    language: Annotated[
        str | None, typer.Option("--language", "-l", help=f"The language: {', '.join(LANGUAGES)}.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also print the words that show the gender, and the name of the rule.")
    ] = False,
    gender_from: Annotated[
        str,
        typer.Option(
            "--gender-from",
            help=f"How to detect gender: {', '.join(SOURCES)}; with conllu, FILE is parsed text in CoNLL-U format.",
        ),
    ] = "rules",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per sentence.")] = False,
) -> None:
    """Print the gender of the first-person speaker of every sentence: masculine, feminine or none.

    `tiltmeter gender FILE` is short for `tiltmeter gender detect FILE`. Columns are separated by tabs: gender, words
    and rule (with --explain), sentence.

    **Example**

    `tiltmeter gender detect --language sk translations.txt`
    """
    for text, result in detect_genders(file, language, gender_from):
        if as_json:
            record: dict[str, object] = {"text": text, "gender": result.gender}
            if explain:
                record |= {"cue": result.cue, "rule": result.rule}
            print(format_json(record, indent=None))
        else:
            explanation = (" ".join(result.cue), result.rule or "") if explain else ()
            print(result.gender or "none", *explanation, text, sep="\t")


def detect_genders(file: str, language: str | None, gender_from: str) -> Iterator[tuple[str, SpeakerGender]]:
    """Yield each sentence of a file with the detected gender of its speaker."""
    if gender_from not in SOURCES:
        raise UsageError(f"--gender-from {gender_from} is not known; choose {', '.join(SOURCES)}.")
    if gender_from == "conllu":
        from tiltmeter.gender.conllu import find_conllu_gender, read_conllu

        for sentence in read_conllu(_read_lines(file), _get_display_name(file)):
            yield sentence.text, find_conllu_gender(sentence.words, explain=True)
        return
    if language is None:
        raise UsageError("--language is missing; it is required unless --gender-from is conllu.")
    if gender_from == "stanza":
        from tiltmeter.gender.stanza import StanzaGenderFinder

        finder = StanzaGenderFinder(language)
        for text in _read_sentences(file):
            yield text, finder.find_speaker_gender(text)
        return
    check_language(language)
    for text in _read_sentences(file):
        yield text, find_speaker_gender(text, language, explain=True)


def _read_sentences(file: str) -> Iterator[str]:
    """Yield the lines of a file with one sentence per line; raise a UsageError for a table or JSON lines."""
    for number, line in enumerate(_read_lines(file), start=1):
        if number == 1 and (kind := _find_other_format(file, line)):
            raise UsageError(
                f"{_get_display_name(file)} is {kind}, not a text file with one sentence per line; write the sentences "
                "to a text file, one in each line. For pairs of translations, use `gender sample --pairs`."
            )
        yield line


def _find_other_format(file: str, first: str) -> str:
    """Return the format of a file, judged by its name and first line; an empty text if it has plain sentences."""
    if Path(file).suffix.lower() in _TABLES:
        return "a table"
    if first.lstrip().startswith(("{", "[{")):
        return "JSON"
    cells = [cell.strip().strip('"').casefold() for cell in re.split(r"[,;\t]", first.lstrip("\ufeff"))]
    return "a table" if len(cells) > 1 and _COLUMNS.issuperset(cells) else ""


def _read_lines(file: str) -> Iterator[str]:
    """Yield the lines of a file; if a line is not UTF-8, the error message contains the number of the line."""
    content = sys.stdin.buffer.read() if file == "-" else read_bytes(Path(file))
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{_get_display_name(file)}, line {number}: not UTF-8 ({error.reason}); convert the file to UTF-8."
            ) from error


def _get_display_name(file: str) -> str:
    return "standard input" if file == "-" else file
