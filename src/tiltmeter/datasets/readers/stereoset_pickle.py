"""Reader of the multilingual StereoSet: a pickled pandas DataFrame per part and language."""

from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.csv_records import require_columns
from tiltmeter.datasets.readers.dataframe_pickle import read_columns

_CANDIDATES = ("c1", "c2", "c3")
_FIELDS = {"id": "id", "role": "gold_label", "sentence": "sentence", "word": "word"}
_NAMES = {
    f"candidates[{number}].{ours}": f"{candidate}_{theirs}"
    for number, candidate in enumerate(_CANDIDATES)
    for ours, theirs in _FIELDS.items()
} | {"target_term": "target"}


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file such as `df_intrasentence_de.pkl`; intrasentence files have columns of words."""
    columns = read_columns(path)
    part = "intrasentence" if "c1_word" in columns else "intersentence"
    fields = {ours: theirs for ours, theirs in _FIELDS.items() if ours != "word" or part == "intrasentence"}
    candidates = [f"{candidate}_{field}" for candidate in _CANDIDATES for field in fields.values()]
    require_columns([*columns], ("id", "target", "bias_type", "context", *candidates))
    # In translated files, `target_original` is the English target, which is the same in all languages.
    shared = columns.get("target_original", columns["target"])
    for row in range(len(columns["id"])):
        values = {key: columns[key][row] for key in ("id", "bias_type", "context")}
        values |= {"part": part, "language": language, "target": shared[row], "target_term": columns["target"][row]}
        values["candidates"] = [
            {ours: columns[f"{candidate}_{theirs}"][row] for ours, theirs in fields.items()}
            for candidate in _CANDIDATES
        ]
        yield RawRecord(f"row {row}", values, _NAMES)


READS = {"stereoset-pickle": parse}
