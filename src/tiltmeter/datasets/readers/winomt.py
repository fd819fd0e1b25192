"""Reader of WinoMT: lines with a gender, the position of a noun, a sentence and the noun, separated by tabs.

    female	1	The gardener thanked the florist because she had lost the seeds.	gardener

The file `en_pro.txt` in the same folder repeats the lines in which the gender is the stereotypical gender of the noun;
`en_anti.txt` repeats the lines with the opposite gender.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.decoded_text import find_file_in_same_folder, read_text
from tiltmeter.forms import Problem
from tiltmeter.forms.winomt import ANTI, NEITHER, PRO

_BAD = "bad-winomt"


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file such as `en.txt`; ids are line numbers."""
    lines = _read_lines(path)
    labels = _read_stereotypical_labels(path, set(lines))
    for number, line in enumerate(lines, start=1):
        yield _build_record(line, number, language, labels.get(line, NEITHER))


def _read_stereotypical_labels(path: Path, known: set[str]) -> Mapping[str, str]:
    """Return a mapping from the lines of `en_pro.txt` and `en_anti.txt` to `pro` or `anti`."""
    labels: dict[str, str] = {}
    for value in (PRO, ANTI):
        companion = find_file_in_same_folder(path, f"{path.stem}_{value}{path.suffix}", _BAD)
        for number, line in enumerate(_read_lines(companion), start=1):
            if line not in known:
                raise BrokenFileError(_BAD, f"does not contain line {number} of {companion.name}")
            if labels.setdefault(line, value) != value:
                raise BrokenFileError(_BAD, f"has a line in both companion files: line {number} of {companion.name}")
    return labels


def _read_lines(path: Path) -> list[str]:
    return read_text(path).removesuffix("\n").split("\n")


def _build_record(line: str, number: int, language: str, stereotypical: str) -> RawRecord:
    values = line.split("\t")
    if len(values) != 4 or not values[1].isdecimal():
        message = "must be a gender, the position of a noun, a sentence and the noun, separated by tabs"
        return RawRecord(f"line {number}", None, problems=[Problem(_BAD, "", message)])
    gender, position, sentence, entity = values
    return RawRecord(
        f"line {number}",
        {
            "id": str(number),
            "language": language,
            "gender": gender,
            "entity": entity,
            "position": int(position),
            "stereotypical": stereotypical,
            "sentence": sentence,
        },
    )


READS = {"winomt": parse}
