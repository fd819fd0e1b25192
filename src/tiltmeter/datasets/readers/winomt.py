"""Reader of WinoMT: lines of a gender, the place of a noun, a sentence and the noun, divided by tabs.

    female	1	The gardener thanked the florist because she had lost the seeds.	gardener

`en_pro.txt` and `en_anti.txt`, beside the file, repeat the lines whose gender is the stereotypical one, and the
opposite.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.forms import Problem
from tiltmeter.forms.winomt import ANTI, NEITHER, PRO

_BAD = "bad-winomt"


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of a file such as `en.txt`; the id of an item is the number of its line."""
    lines = _read_lines(path)
    casting = _read_casting(path, set(lines))
    for number, line in enumerate(lines, start=1):
        yield _build_record(line, number, language, casting.get(line, NEITHER))


def _read_casting(path: Path, known: set[str]) -> Mapping[str, str]:
    """The lines that the files beside this one have, with `pro` or `anti`."""
    casting: dict[str, str] = {}
    for value in (PRO, ANTI):
        beside = path.with_name(f"{path.stem}_{value}{path.suffix}")
        if not beside.is_file():
            raise BrokenFileError(_BAD, f"is no use without {beside.name}, which should lie beside it")
        for number, line in enumerate(_read_lines(beside), start=1):
            if line not in known:
                raise BrokenFileError(_BAD, f"lacks line {number} of {beside.name}")
            if casting.setdefault(line, value) != value:
                raise BrokenFileError(_BAD, f"has a line that is both pro and anti, line {number} of {beside.name}")
    return casting


def _read_lines(path: Path) -> list[str]:
    return read_text(path).removesuffix("\n").split("\n")


def _build_record(line: str, number: int, language: str, stereotypical: str) -> RawRecord:
    values = line.split("\t")
    if len(values) != 4 or not values[1].isdecimal():
        message = "should be a gender, the place of a noun, a sentence and the noun, divided by tabs"
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
