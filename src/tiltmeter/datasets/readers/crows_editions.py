"""Readers of translations and revisions of CrowS-Pairs; ids are row numbers of the original data set.

As in the original, `sent_more` is always the more stereotypical sentence. Some files have pairs with a missing
sentence; these pairs are omitted. Some files have bias types that are misspelt or in French; these are corrected.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.csv_records import read_records
from tiltmeter.datasets.readers.decoded_text import find_file_in_same_folder, read_mac_roman_text, read_text
from tiltmeter.forms import Problem

_COLUMNS = {"more": "sent_more", "less": "sent_less", "direction": "stereo_antistereo", "bias_type": "bias_type"}
_BIAS_TYPES = {"autre": "other", "Race-color": "race-color"}
# Directions that some files have in the column of bias types by mistake.
_NO_TYPES = ("stereo", "antistereo")


def parse_parallel(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file such as `crows_french.csv`; it has a column `id`."""
    return _read_edition(path, language, "id")


def parse_dutch(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of `crows_dutch.csv`, with a warning if the direction differs from `crows_eng.csv`.

    The encoding of `crows_dutch.csv` is Mac Roman. Its column of directions is shifted by up to 16 rows.
    """
    english = find_file_in_same_folder(path, "crows_eng.csv", "bad-csv")
    directions = {r.values["id"]: r.values["direction"] for r in parse_parallel(english, "en") if r.values is not None}
    for record in _read_edition(path, language, "id", decode=read_mac_roman_text):
        other = directions.get(record.values["id"]) if record.values is not None else None
        if record.values is not None and other is not None and other != record.values["direction"]:
            message = f"is {record.values['direction']}, but {other} in {english.name}"
            yield replace(record, problems=[*record.problems, Problem("direction-differs", "direction", message)])
        else:
            yield record


def parse_tab_separated(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a tab-separated file such as `crows_pairs_FR_languagearc_contribution+210.csv`."""
    return _read_edition(path, language, "", delimiter="\t")


def parse_revised(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of `crows_revised.csv`, the revised English pairs."""
    return _read_edition(path, language, "")


def _read_edition(
    path: Path,
    language: str,
    id_column: str,
    *,
    delimiter: str = ",",
    decode: Callable[[Path], str] = read_text,
) -> Iterator[RawRecord]:
    names = {"id": id_column, **_COLUMNS}

    def complete_values(_number: int, values: dict[str, object]) -> dict[str, object]:
        return values | {"language": language}

    for record in read_records(path, names, complete_values, delimiter=delimiter, decode=decode):
        yield _normalise_record(record)


def _normalise_record(record: RawRecord) -> RawRecord:
    """Return the record with a uniform spelling of the bias type; set `values` to None if a sentence is missing."""
    if record.values is None:
        return record
    missing = [side for side in ("more", "less") if not str(record.values[side]).strip()]
    if missing:
        message = f"is empty, so pair {record.values['id']} is left out"
        return replace(record, values=None, problems=[Problem("half-pair", missing[0], message)])
    given = str(record.values["bias_type"])
    if given in _NO_TYPES or not given.strip():
        reason = f"{given!r} is a direction, not a bias type" if given.strip() else "is empty"
        problem = Problem("bad-bias-type", "bias_type", f"{reason}; the pair is counted as other")
        return replace(record, values={**record.values, "bias_type": "other"}, problems=[problem])
    return replace(record, values={**record.values, "bias_type": _BIAS_TYPES.get(given, given)})


READS = {
    "crows-parallel": parse_parallel,
    "crows-dutch": parse_dutch,
    "crows-tsv": parse_tab_separated,
    "crows-revised": parse_revised,
}
