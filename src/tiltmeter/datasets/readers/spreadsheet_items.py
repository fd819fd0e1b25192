"""Reader of a user's own items in a CSV, TSV or Excel file, one item per row."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tiltmeter.datasets.column_mapping import choose_columns
from tiltmeter.datasets.raw_records import BrokenFileError, RawRecord
from tiltmeter.datasets.readers.jsonl import normalise_nfc
from tiltmeter.datasets.readers.prompt_groups import OWN_PROMPTS, get_groups_path, read_prompt_groups
from tiltmeter.datasets.readers.spreadsheet import Spreadsheet, read_spreadsheet
from tiltmeter.forms import Problem, get_form
from tiltmeter.forms.blank import BLANK

_ROLES = ("stereotype", "anti-stereotype", "unrelated")
_NUMBERS = {"gest": ("stereotype",), "gendered-pairs": ("stereotype",), "pairs": ("votes",)}
_OTHER = "other"


def parse_item_table(path: Path, given: Mapping[str, str], language: str | None = None) -> Iterator[RawRecord]:
    """Yield the records of a table; `given` maps fields to columns, and the other columns are guessed.

    `language` is the language of the items if the table has no column for it. Items without an id have the number of
    their row as id, and pairs without a bias type have the type `other`.
    """
    table = read_spreadsheet(path, language)
    form, columns = _choose(table, given, language)
    groups = read_prompt_groups(path, language) if form == OWN_PROMPTS else None
    for number, (location, cells) in enumerate(table.rows, start=1):
        if any(cell.strip() for cell in cells[len(table.header) :]):
            message = (
                f"has {len(cells)} cells, but the header has {len(table.header)}; put texts that contain the separator "
                "in quotes"
            )
            yield RawRecord(location, None, problems=[Problem("bad-csv", "", message)])
            continue
        row = dict(zip(table.header, [*cells, *[""] * (len(table.header) - len(cells))], strict=False))
        texts = {field: normalise_nfc(row[column].strip()) for field, column in columns.items()}
        values = _build_values(form, texts, number, language)
        # Findings name the column of the table.
        names = {field: f"column {column!r}" for field, column in columns.items()}
        if groups is not None:
            expanded = [RawRecord(location, item, names) for item in groups.build_items(values)]
            problem = Problem("missing-groups", "", f"{get_groups_path(path).name} has no wordings in this language")
            yield from expanded or [RawRecord(location, None, problems=[problem])]
            continue
        converted = get_form(form).from_json(values)
        names |= {ours: names.get(theirs.rpartition(".")[2], theirs) for ours, theirs in converted.names.items()}
        yield RawRecord(location, converted.values, names, converted.problems)


def describe_item_table(path: Path, given: Mapping[str, str], language: str | None = None) -> str:
    """Return a sentence with the columns that are used, the encoding and the language; raise a BrokenFileError."""
    table = read_spreadsheet(path, language)
    form, columns = _choose(table, given, language)
    listed = ", ".join(f"{field} = {column!r}" for field, column in columns.items())
    unused = [name for name in table.header if name and name not in columns.values()]
    ignored = f"; not used: {', '.join(map(repr, unused))}" if unused else ""
    where = "" if "language" in columns else f"; language {language}"
    number = f"{len(table.rows):,}"
    if form == OWN_PROMPTS:
        names = read_prompt_groups(path, language).names
        number = f"{number} prompts about {', '.join(names[1:])} and the reference group {names[0]}, as"
    return f"{path.name}: {number} items of the form {form}; {listed}{where}{ignored} ({table.details})."


def _choose(table: Spreadsheet, given: Mapping[str, str], language: str | None) -> tuple[str, dict[str, str]]:
    try:
        form, columns = choose_columns(table.header, given)
    except ValueError as error:
        raise BrokenFileError("missing-column", str(error)) from error
    if "language" not in columns and language is None:
        message = "has no column for the language; add one, or write the language after the name, as in FILE.csv:de"
        raise BrokenFileError("missing-column", message)
    return form, columns


def _build_values(form: str, texts: Mapping[str, str], number: int, language: str | None) -> dict[str, object]:
    """Return the values of an item as in a line of JSONL."""
    values: dict[str, object] = {"id": texts.get("id") or str(number)}
    required = ("more", "less", "sentence", "male", "female", "stereotype", "context", "target", "prompt")
    values |= {field: text for field, text in texts.items() if text or (field in required and field != "id")}
    if not values.get("language"):
        values["language"] = language or ""
    if form in ("pairs", "association"):
        values.setdefault("bias_type", _OTHER)
    for field in _NUMBERS.get(form, ()):
        # Spreadsheets write whole numbers as 7 or 7.0.
        if match := re.fullmatch(r"([0-9]{1,6})(\.0+)?", str(values.get(field, ""))):
            values[field] = int(match[1])
    if form == "association":
        for role in _ROLES:
            values.pop(role, None)
        values["candidates"] = {role: texts[role] for role in _ROLES}
        values.setdefault("part", "intrasentence" if BLANK in texts["context"] else "intersentence")
    return values
