"""Reader and writer of the file format of Tiltmeter: JSONL, one item per line."""

import json
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.datasets.validation import validate_records
from tiltmeter.files import write_atomically
from tiltmeter.forms import Item, Problem, detect_form, get_item_form


def read_jsonl(path: Path, language: str | None = None) -> list[Item]:
    """Return the items of a JSONL file; raise a DataError if it has errors.

    `language` is the language of items that do not name a language.
    """
    return validate_records(str(path), parse(path, language)).require_valid_items()


def parse(path: Path, language: str | None = None) -> Iterator[RawRecord]:
    """Yield the records of a JSONL file; skip empty lines. `language` is the language of items that do not name one."""
    # Do not use splitlines(), which also splits at U+2028 and similar characters inside a text.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield _parse_line(line, f"line {number}", language)


def _parse_line(line: str, row: str, language: str | None) -> RawRecord:
    problems: list[Problem] = []

    def check_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
        values = dict(pairs)
        if len(values) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            problems.append(Problem("duplicate-key", twice, f"the key {twice!r} occurs twice"))
        return values

    try:
        values = json.loads(line, object_pairs_hook=check_keys)
    except json.JSONDecodeError as error:
        message = f"is not valid JSON: {error.msg} at column {error.colno}"
        return RawRecord(row, None, problems=[Problem("bad-json", "", message)])
    except (ValueError, RecursionError):
        message = "contains a number with too many digits, or too many nested lists"
        return RawRecord(row, None, problems=[Problem("bad-json", "", message)])
    if not isinstance(values, dict):
        return RawRecord(row, None, problems=[Problem("bad-json", "", "must be a JSON object: {...}")])
    problems += [
        Problem("decomposed", key, "is not in the Unicode normal form NFC; it is converted")
        for key in _find_decomposed(values)
    ]
    values = normalise_nfc(values)
    form = detect_form(values)
    known = form.keys if form else tuple(values)
    problems += [Problem("unknown-field", key, f"unknown field {key!r}") for key in values if key not in known]
    if language is not None:
        values.setdefault("language", language)
    if form is None:
        return RawRecord(row, values, problems=problems)
    converted = form.from_json(values)
    return RawRecord(row, converted.values, converted.names, [*problems, *converted.problems])


def normalise_nfc(value: Any) -> Any:
    """Return a JSON value with all texts in the Unicode normal form NFC.

    >>> normalise_nfc({"sentence": "Zoe\\u0308 sang."})["sentence"] == "Zo\\u00eb sang."
    True
    """
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, list):
        return [normalise_nfc(entry) for entry in value]
    if isinstance(value, dict):
        return {key: normalise_nfc(entry) for key, entry in value.items()}
    return value


def _find_decomposed(values: dict[str, Any]) -> list[str]:
    """Return the fields with a text that is not in NFC."""
    return [key for key, value in values.items() if normalise_nfc(value) != value]


def write_jsonl(items: Iterable[Item], path: Path) -> None:
    """Write items to a JSONL file; the file is replaced atomically."""
    with write_atomically(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(format_line(item) + "\n" for item in items)


def format_line(item: Item) -> str:
    """Return an item as a line of JSONL.

    >>> from tiltmeter.forms.gest import GestItem
    >>> print(format_line(GestItem("g-1", "en", 9, "I repaired the radio.")))
    {"id": "g-1", "language": "en", "stereotype": 9, "sentence": "I repaired the radio."}
    """
    return json.dumps(get_item_form(item).write(item), ensure_ascii=False)


READS = {"jsonl": parse}
