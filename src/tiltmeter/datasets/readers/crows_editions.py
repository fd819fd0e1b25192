"""Readers of translations and revisions of CrowS-Pairs, whose ids are row numbers of the original.

As in the original, `sent_more` is the more stereotypical sentence, whatever the direction. Some files have pairs that
lack a sentence, which are left out, and bias types that are misspelt or in French.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.csv_records import read_records
from tiltmeter.datasets.readers.decoded_text import read_mac_text, read_text
from tiltmeter.forms import Problem

_COLUMNS = {"more": "sent_more", "less": "sent_less", "direction": "stereo_antistereo", "bias_type": "bias_type"}
_BIAS_TYPES = {"autre": "other", "Race-color": "race-color"}
# A direction where the bias type should be.
_NO_TYPES = ("stereo", "antistereo")


def parse_parallel(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of a file such as `crows_french.csv`, with a column `id`."""
    return _read_edition(path, language, "id")


def parse_dutch(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of `crows_dutch.csv`, with a warning where the direction is not that of `crows_eng.csv`.

    The file is in Mac Roman. Its directions have slipped against its sentences by up to 16 rows.
    """
    english = path.with_name("crows_eng.csv")
    if not english.is_file():
        raise BrokenFileError("bad-csv", f"is read together with {english.name}, which should lie beside it")
    directions = {r.values["id"]: r.values["direction"] for r in parse_parallel(english, "en") if r.values is not None}
    for record in _read_edition(path, language, "id", decoded=read_mac_text):
        other = directions.get(record.values["id"]) if record.values is not None else None
        if record.values is not None and other is not None and other != record.values["direction"]:
            message = f"is {record.values['direction']} here and {other} in {english.name}"
            yield replace(record, problems=[*record.problems, Problem("direction-differs", "direction", message)])
        else:
            yield record


def parse_tab_separated(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of a file such as `crows_pairs_FR_languagearc_contribution+210.csv`, which is tab-separated."""
    return _read_edition(path, language, "", delimiter="\t")


def parse_revised(path: Path, language: str) -> Iterator[RawRecord]:
    """The records of `crows_revised.csv`."""
    return _read_edition(path, language, "")


def _read_edition(
    path: Path,
    language: str,
    id_column: str,
    *,
    delimiter: str = ",",
    decoded: Callable[[Path], str] = read_text,
) -> Iterator[RawRecord]:
    names = {"id": id_column, **_COLUMNS}

    def complete(_number: int, values: dict[str, object]) -> dict[str, object]:
        return values | {"language": language}

    for record in read_records(path, names, complete, delimiter=delimiter, decoded=decoded):
        yield _normalise_record(record)


def _normalise_record(record: RawRecord) -> RawRecord:
    """The record with its bias type as others have it; without values if a sentence is missing."""
    if record.values is None:
        return record
    missing = [side for side in ("more", "less") if not str(record.values[side]).strip()]
    if missing:
        message = f"pair {record.values['id']} has no {record.names[missing[0]]} and is left out"
        return replace(record, values=None, problems=[Problem("half-pair", missing[0], message)])
    given = str(record.values["bias_type"])
    if given in _NO_TYPES:
        problem = Problem("bad-bias-type", "bias_type", f"{given!r} is a direction; the pair is counted as other")
        return replace(record, values={**record.values, "bias_type": "other"}, problems=[problem])
    return replace(record, values={**record.values, "bias_type": _BIAS_TYPES.get(given, given)})


READS = {
    "crows-parallel": parse_parallel,
    "crows-dutch": parse_dutch,
    "crows-tsv": parse_tab_separated,
    "crows-revised": parse_revised,
}
