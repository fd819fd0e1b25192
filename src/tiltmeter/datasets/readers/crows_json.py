"""Reader of the gender pairs of CrowS-Pairs in Japanese and Russian (Kaneko et al. 2022): a JSON list."""

from collections.abc import Iterator
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.decoded_text import read_json_file
from tiltmeter.forms import Problem

_NAMES = {"more": "stereotype", "less": "anti-stereotype", "votes": "bias_score"}
_KEYS = {"direction": "direction", "bias_type": "bias_type", **_NAMES}


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file such as `japanese.json`; a pair has the same id, its list index, in all languages.

    `bias_score` says how many of the five annotators of CrowS-Pairs found a bias in the English pair.
    """
    pairs = read_json_file(path)
    if not isinstance(pairs, list):
        raise BrokenFileError("bad-json", "must be a list of pairs: [{...}, ...]")
    for number, pair in enumerate(pairs):
        row = f"[{number}]"
        if isinstance(pair, dict):
            values = {ours: pair[theirs] for ours, theirs in _KEYS.items() if theirs in pair}
            yield RawRecord(row, {"id": str(number), "language": language, **values}, _NAMES)
        else:
            yield RawRecord(row, None, problems=[Problem("bad-json", "", "must be a JSON object: {...}")])


READS = {"crows-json": parse}
