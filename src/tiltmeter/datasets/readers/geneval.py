"""Reader of MT-GenEval: text files; line n of a source file corresponds to line n of its reference files.

A file of the part `sentences`, such as `geneval-sentences-feminine-test.en_es.en`, has the English sources of one
gender; the references of both genders are in the files that end with `.es`. A file of the part `context`,
`geneval-context-…-2to1-test.en_es.en`, has a context and a sentence on each line, separated by `<sep>`; the references
are in the files `…-original-…` and `…-flipped-…`. A few lines have no context before `<sep>`.

The files do not state the gender of a context. It is masculine if all pronouns of the context are masculine, feminine
if all are feminine, and otherwise unknown.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.geneval_files import list_reference_names
from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.decoded_text import find_file_in_same_folder, read_text
from tiltmeter.datasets.readers.winobias import FEMALE, MALE
from tiltmeter.forms import Problem
from tiltmeter.forms.geneval import CONTEXT, FEMININE, MASCULINE, SENTENCES, UNKNOWN

_SENTENCES = re.compile(r"geneval-sentences-(feminine|masculine)-(?:test|dev)\.en_(\w+)\.en")
_CONTEXT = re.compile(r"geneval-context-wikiprofessions-2to1-(?:test|dev)\.en_(\w+)\.en")
_SEPARATOR = re.compile(r"\s*<sep>\s*")
_BAD = "bad-geneval"


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file of English sources; the two reference files in its folder are also read."""
    if match := _SENTENCES.fullmatch(path.name):
        yield from _parse_sentences(path, language, match[1])
    elif _CONTEXT.fullmatch(path.name):
        yield from _parse_contexts(path, language)
    else:
        raise BrokenFileError(
            _BAD, "must have the name of a released file, such as geneval-sentences-feminine-test.en_es.en"
        )


def detect_pronoun_gender(context: str) -> str:
    """Return the gender of the pronouns in an English text; "unknown" if there are no pronouns or both genders.

    >>> detect_pronoun_gender("She sold her roses."), detect_pronoun_gender("She met him.")
    ('feminine', 'unknown')
    """
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", context)}
    masculine, feminine = bool(words & MALE), bool(words & FEMALE)
    if masculine == feminine:
        return UNKNOWN
    return MASCULINE if masculine else FEMININE


def _parse_sentences(path: Path, language: str, gender: str) -> Iterator[RawRecord]:
    for number, (source, correct, incorrect) in _read_parallel_lines(path):
        yield RawRecord(
            f"line {number}",
            {
                "id": f"{SENTENCES}/{number}/{gender}",
                "part": SENTENCES,
                "language": language,
                "gender": gender,
                "pair": str(number),
                "source": source,
                "correct": correct,
                "incorrect": incorrect,
            },
        )


def _parse_contexts(path: Path, language: str) -> Iterator[RawRecord]:
    for number, (line, correct, incorrect) in _read_parallel_lines(path):
        halves = _SEPARATOR.split(line)
        if len(halves) != 2 or not halves[1]:
            problem = Problem(_BAD, "", "must be a context, <sep> and a sentence")
            yield RawRecord(f"line {number}", None, problems=[problem])
            continue
        context, source = halves
        yield RawRecord(
            f"line {number}",
            {
                "id": f"{CONTEXT}/{number}",
                "part": CONTEXT,
                "language": language,
                "gender": detect_pronoun_gender(context),
                "context": context,
                "source": source,
                "correct": correct,
                "incorrect": incorrect,
            },
        )


def _read_parallel_lines(path: Path) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Yield (line number, (source, correct reference, incorrect reference)) for each line; numbers start at 1."""
    paths = [path, *(find_file_in_same_folder(path, name, _BAD) for name in list_reference_names(path.name))]
    # Do not use splitlines(), because some lines contain U+0085 and similar characters.
    columns = [read_text(file).removesuffix("\n").split("\n") for file in paths]
    for other, lines in zip(paths[1:], columns[1:], strict=True):
        if len(lines) != len(columns[0]):
            raise BrokenFileError(_BAD, f"has {len(columns[0])} lines, but {other.name} has {len(lines)}")
    for number, (source, correct, incorrect) in enumerate(zip(*columns, strict=True), start=1):
        yield number, (source.strip(), correct.strip(), incorrect.strip())


READS = {"geneval": parse}
