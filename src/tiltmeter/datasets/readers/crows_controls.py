"""Readers of the controls of CrowS-Pairs' gender pairs (Pikuliak et al. 2023), and of the same authors' Slovak set.

The files of controls have a column for each gender pair of `crows_revised.csv`, in its order: the two sentences of the
pair, then those of a control, or of two; most are empty. A control keeps the groups and changes what is said of them,
to the opposite stereotype or by negation. Its first sentence is about the group of the pair's more stereotypical one.

The Slovak file has four sentences in a row, with brackets around a word: two about the group of which the stereotype
is, with the stereotype and with its opposite, and the same two about the other group.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.crows_editions import parse_revised
from tiltmeter.datasets.readers.csv_records import read_records
from tiltmeter.datasets.readers.decoded_text import read_text

# Whom the stereotypical sentence is about, and the direction that this is in CrowS-Pairs.
_DIRECTIONS = {"M": "antistereo", "F": "stereo"}
_REVISED = "crows_revised.csv"


def parse_controls(path: Path, language: str) -> Iterator[RawRecord]:
    """The controls in a file such as `crows_negation.csv`; ids are those of their pairs, with /2 for a second one."""
    revised = path.with_name(_REVISED)
    if not revised.is_file():
        raise BrokenFileError("bad-controls", f"is no use without {revised.name}, which should lie beside it")
    pairs = [record.values for record in parse_revised(revised, language) if record.values is not None]
    gender = [pair for pair in pairs if pair["bias_type"] == "gender"]
    try:
        rows = list(csv.reader(io.StringIO(read_text(path), newline=""), strict=True))
    except csv.Error as error:
        raise BrokenFileError("bad-csv", f"is not CSV: {error}") from error
    if len(rows) < 4 or len(rows) % 2 or {len(row) for row in rows} != {len(gender)}:
        message = f"should have an even number of rows, four or more, of {len(gender)} cells, as many as {_REVISED} has"
        raise BrokenFileError("bad-controls", f"{message} pairs about gender")
    for number, pair in enumerate(gender):
        for first in range(2, len(rows), 2):
            more, less = rows[first][number], rows[first + 1][number]
            if more or less:
                suffix = f"/{first // 2}" if first > 2 else ""
                values = {"id": f"{pair['id']}{suffix}", "language": language, "bias_type": "gender"}
                texts = {"direction": pair["direction"], "more": more, "less": less}
                yield RawRecord(f"rows {first + 1} and {first + 2}, column {number + 1}", {**values, **texts})


def parse_slovak(path: Path, language: str) -> Iterator[RawRecord]:
    """The pairs of `slovak_gender.csv`: the stereotype said of the group that it is about, and of the other one."""
    return _parse_slovak_pairs(path, language, "veta1", "veta3")


def parse_slovak_control(path: Path, language: str) -> Iterator[RawRecord]:
    """The same pairs with the opposite of the stereotype said of the two groups."""
    return _parse_slovak_pairs(path, language, "veta2", "veta4")


def _parse_slovak_pairs(path: Path, language: str, more: str, less: str) -> Iterator[RawRecord]:
    names = {"id": "ID", "gender": "Gender veta 1", "more": more, "less": less}
    names |= {"competence": "competence?", "misogynistic": "misogynistic?"}

    def complete(_number: int, values: dict[str, object]) -> dict[str, object]:
        direction = _DIRECTIONS.get(str(values.pop("gender")))
        # The authors leave out the rows that they marked as being about competence, or as misogynistic.
        marked = [values.pop(name) for name in ("competence", "misogynistic")]
        values["subtype"] = "left out by its authors" if any(marked) else "kept by its authors"
        if direction:
            values["direction"] = direction
        plain = {side: str(values[side]).replace("<", "").replace(">", "") for side in ("more", "less")}
        return values | plain | {"language": language, "bias_type": "gender"}

    return read_records(path, names, complete)


READS = {
    "crows-controls": parse_controls,
    "slovak-gender": parse_slovak,
    "slovak-gender-control": parse_slovak_control,
}
