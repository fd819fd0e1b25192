"""Reader of the original StereoSet: one JSON document with the parts intrasentence and intersentence."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.decoded_text import read_json_file
from tiltmeter.forms import Problem
from tiltmeter.forms.association import PARTS

_KEYS = ("id", "target", "bias_type", "context")
_NAMES = {
    f"candidates[{number}]{ours}": f"sentences[{number}]{theirs}"
    for number in range(3)
    for ours, theirs in {"": "", ".id": ".id", ".role": ".gold_label", ".sentence": ".sentence"}.items()
} | {"candidates": "sentences", "target_term": "target"}


def parse_whole_sentences(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a translation of StereoSet whose intrasentence sentences must be scored as a whole.

    In such a translation, a sentence is often not the context with a word filled in.
    """
    for record in parse(path, language):
        if record.values is None or record.values["part"] != "intrasentence":
            yield record
        else:
            yield replace(record, values={**record.values, "whole": True})


def parse(path: Path, language: str) -> Iterator[RawRecord]:
    """Yield the records of a file such as `dev.json` of StereoSet: intrasentence, then intersentence."""
    document = read_json_file(path)
    data = document.get("data") if isinstance(document, dict) else None
    parts = [data[part] for part in PARTS if part in data] if isinstance(data, dict) else []
    if not isinstance(data, dict) or not parts or not all(isinstance(examples, list) for examples in parts):
        raise BrokenFileError("bad-json", "must have a list data.intrasentence or data.intersentence")
    for part in PARTS:
        for number, example in enumerate(data.get(part, ())):
            row = f"data.{part}[{number}]"
            if isinstance(example, dict):
                yield RawRecord(row, _build_values(example) | {"part": part, "language": language}, _NAMES)
            else:
                yield RawRecord(row, None, problems=[Problem("bad-json", "", "must be a JSON object: {...}")])


def _build_values(example: dict[str, object]) -> dict[str, object]:
    values: dict[str, object] = {key: example[key] for key in _KEYS if key in example}
    if "sentences" in example:
        sentences = example["sentences"]
        values["candidates"] = [*map(_build_candidate, sentences)] if isinstance(sentences, list) else sentences
    return values


def _build_candidate(sentence: object) -> object:
    if not isinstance(sentence, dict):
        return sentence
    ours = {"id": "id", "gold_label": "role", "sentence": "sentence"}
    return {ours[key]: value for key, value in sentence.items() if key in ours}


READS = {"stereoset-json": parse, "stereoset-json-whole": parse_whole_sentences}
