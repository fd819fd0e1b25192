"""Readers of control pairs for the gender pairs of CrowS-Pairs, and of Slovak pairs (both Pikuliak et al. 2023).

A control pair is about the same groups as its original pair, with the opposite stereotype or a negated statement. The
first sentence of a control pair is about the same group as the more stereotypical sentence of the original pair. A file
of controls has one column for each gender pair of `crows_revised.csv`, in the order of that file. A column has the two
sentences of the original pair, followed by the two sentences of each of its one or two control pairs. Most table cells
are empty.

The Slovak file has four sentences per row, with brackets around a word: the stereotype and its opposite about the
stereotyped group, then the stereotype and its opposite about the other group.
"""

from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.crows_editions import parse_revised
from tiltmeter.datasets.readers.csv_records import read_records, read_rows
from tiltmeter.datasets.readers.decoded_text import find_file_in_same_folder

# Maps the gender of the person in the stereotypical sentence to the direction in CrowS-Pairs.
_DIRECTIONS = {"M": "antistereo", "F": "stereo"}
_REVISED = "crows_revised.csv"


def parse_controls(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the control pairs in a file such as `crows_negation.csv`; ids of second control pairs end with /2."""
    revised = find_file_in_same_folder(path, _REVISED, "bad-controls")
    pairs = [record.values for record in parse_revised(revised, language) if record.values is not None]
    gender = [pair for pair in pairs if pair["bias_type"] == "gender"]
    rows = [row for _, row in read_rows(path)]
    if len(rows) < 4 or len(rows) % 2 or {len(row) for row in rows} != {len(gender)}:
        message = f"must have an even number of rows (at least 4), each with {len(gender)} values, one for each gender"
        raise BrokenFileError("bad-controls", f"{message} pair of {_REVISED}")
    for number, pair in enumerate(gender):
        for first in range(2, len(rows), 2):
            more, less = rows[first][number], rows[first + 1][number]
            if more or less:
                suffix = f"/{first // 2}" if first > 2 else ""
                values = {"id": f"{pair['id']}{suffix}", "language": language, "bias_type": "gender"}
                texts = {"direction": pair["direction"], "more": more, "less": less}
                yield RawRecord(f"rows {first + 1} and {first + 2}, column {number + 1}", {**values, **texts})


def parse_slovak(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the pairs of `slovak_gender.csv`: the stereotype about the stereotyped group and about the other group."""
    return _parse_slovak_pairs(path, language, "veta1", "veta3")


def parse_slovak_control(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the control pairs of `slovak_gender.csv`: the opposite of the stereotype about each of the two groups."""
    return _parse_slovak_pairs(path, language, "veta2", "veta4")


def _parse_slovak_pairs(path: Path, language: str, more: str, less: str) -> Iterator[RawRecord]:
    names = {"id": "ID", "gender": "Gender veta 1", "more": more, "less": less}
    names |= {"competence": "competence?", "misogynistic": "misogynistic?"}

    def complete_values(_number: int, values: dict[str, object]) -> dict[str, object]:
        direction = _DIRECTIONS.get(str(values.pop("gender")))
        # The authors exclude rows with one of these two marks from their results.
        marked = [values.pop(name) for name in ("competence", "misogynistic")]
        values["subtype"] = "left out by its authors" if any(marked) else "kept by its authors"
        if direction:
            values["direction"] = direction
        plain = {side: str(values[side]).replace("<", "").replace(">", "") for side in ("more", "less")}
        return values | plain | {"language": language, "bias_type": "gender"}

    return read_records(path, names, complete_values)


READS = {
    "crows-controls": parse_controls,
    "slovak-gender": parse_slovak,
    "slovak-gender-control": parse_slovak_control,
}
