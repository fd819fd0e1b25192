"""Tiltmeter's own form: JSONL, one item a line. What users write, and what `data convert` writes."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tiltmeter.data.blank import fill
from tiltmeter.data.items import AssociationItem, Candidate, GestItem, GestPairItem, Item, PairItem, WinoBiasItem
from tiltmeter.data.readers.text import read_text
from tiltmeter.data.records import Problem, Record
from tiltmeter.data.validate import examine
from tiltmeter.errors import DataError
from tiltmeter.files import written_whole

_KEYS = {
    "context": ("id", "part", "language", "bias_type", "target", "target_term", "context", "candidates"),
    "more": ("id", "language", "bias_type", "direction", "more", "less"),
    "sentence": ("id", "language", "stereotype", "sentence"),
    "occupation": ("id", "part", "language", "occupation", "gender", "male", "female"),
    "male": ("id", "language", "stereotype", "translator", "original", "male", "female"),
}
"""The keys of each form, by the key that tells it."""


def read_jsonl(path: Path, language: str | None = None) -> list[Item]:
    """The items of a JSONL file; `language` is that of items that do not name theirs."""
    return examine(str(path), parse(path, language)).accept()


def parse(path: Path, language: str | None = None) -> Iterator[Record]:
    """The records of a JSONL file. Empty lines are passed over."""
    # Not splitlines(): a text may hold U+2028 and its like, which end no line of JSONL.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield _record(line, f"line {number}", language)


def _record(line: str, row: str, language: str | None) -> Record:
    problems: list[Problem] = []

    def distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
        values = dict(pairs)
        if len(values) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            problems.append(Problem("duplicate-key", twice, f"the key {twice!r} is there twice"))
        return values

    try:
        values = json.loads(line, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        message = f"is not valid JSON: {error.msg} at column {error.colno}"
        return Record(row, None, problems=[Problem("bad-json", "", message)])
    except (ValueError, RecursionError):
        message = "holds a number too long, or lists too deep, to be read"
        return Record(row, None, problems=[Problem("bad-json", "", message)])
    if not isinstance(values, dict):
        return Record(row, None, problems=[Problem("bad-json", "", "should be a JSON object: {...}")])
    known = next((keys for tell, keys in _KEYS.items() if tell in values), tuple(values))
    problems += [Problem("unknown-field", key, f"{key!r} has no meaning here") for key in values if key not in known]
    if language is not None:
        values.setdefault("language", language)
    names: dict[str, str] = {}
    if "candidates" in values:
        if not isinstance(values["candidates"], dict):
            problems.append(Problem("wrong-type", "candidates", "should be an object: a candidate for each role"))
            return Record(row, None, problems=problems)
        values["candidates"], names = _candidates(values["candidates"], values.get("part"), problems)
    return Record(row, values, names, problems)


def _candidates(
    by_role: dict[str, object], part: object, problems: list[Problem]
) -> tuple[list[object], dict[str, str]]:
    """The candidates as a list, and what their fields are called in the file."""
    candidates: list[object] = []
    names: dict[str, str] = {}
    keys = ("id", "sentence", "word") if part == "intrasentence" else ("id", "sentence")
    for number, (role, value) in enumerate(by_role.items()):
        ours, theirs = f"candidates[{number}]", f"candidates.{role}"
        names |= {ours: theirs, f"{ours}.role": theirs}
        if isinstance(value, dict):
            candidates.append({**value, "role": role})
            names |= {f"{ours}.{key}": f"{theirs}.{key}" for key in keys}
            unknown = [key for key in value if key not in keys]
            problems += [Problem("unknown-field", f"{theirs}.{key}", f"{key!r} has no meaning here") for key in unknown]
        else:
            # The short form: the word within a sentence, the whole sentence between sentences.
            candidates.append({"role": role, "word" if part == "intrasentence" else "sentence": value})
            names |= {f"{ours}.{key}": theirs for key in keys}
    return candidates, names


def write_jsonl(items: Iterable[Item], path: Path) -> None:
    """Write items as JSONL. The file appears when it is complete, and not at all if something fails."""
    try:
        with written_whole(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(to_line(item) + "\n" for item in items)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from error


def to_line(item: Item) -> str:
    """An item as a line of JSONL.

    >>> print(to_line(GestItem("g-1", "en", 9, "I repaired the radio.")))
    {"id": "g-1", "language": "en", "stereotype": 9, "sentence": "I repaired the radio."}
    """
    return json.dumps(_values(item), ensure_ascii=False)


def _values(item: Item) -> dict[str, object]:
    match item:
        case AssociationItem():
            values: dict[str, object] = {"id": item.id, "part": item.part, "language": item.language}
            values |= {"bias_type": item.bias_type, "target": item.target}
            if item.target_term != item.target:
                values["target_term"] = item.target_term
            return values | {
                "context": item.context,
                "candidates": {candidate.role: _candidate(candidate, item) for candidate in item.candidates},
            }
        case PairItem():
            values = {"id": item.id, "language": item.language, "bias_type": item.bias_type}
            return values | {"direction": item.direction, "more": item.more, "less": item.less}
        case GestItem():
            values = {"id": item.id, "language": item.language}
            return values | {"stereotype": item.stereotype, "sentence": item.sentence}
        case GestPairItem():
            values = {"id": item.id, "language": item.language, "stereotype": item.stereotype}
            values |= {key: text for key in ("translator", "original") if (text := getattr(item, key))}
            return values | {"male": item.male, "female": item.female}
        case WinoBiasItem():
            values = {"id": item.id, "part": item.part, "language": item.language}
            values |= {"occupation": item.occupation, "gender": item.gender}
            return values | {"male": item.male, "female": item.female}


def _candidate(candidate: Candidate, item: AssociationItem) -> str | dict[str, str]:
    """The short form where it says all, else the long one."""
    values = {"id": candidate.id, "sentence": candidate.sentence}
    if candidate.word:
        values["word"] = candidate.word
        if candidate.sentence == fill(item.context, candidate.word):
            del values["sentence"]
    if candidate.id == f"{item.id}/{candidate.role}":
        del values["id"]
    return next(iter(values.values())) if len(values) == 1 else values
