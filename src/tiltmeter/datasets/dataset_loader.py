"""Load and validate items, given the name of a data set, the path of a file, or a specification."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tiltmeter.datasets.catalogue import DATASETS
from tiltmeter.datasets.column_mapping import is_table
from tiltmeter.datasets.dataset_definition import Dataset, Source
from tiltmeter.datasets.dataset_spec import PUBLISHED_ITEMS, Spec, parse_spec
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import Item, get_item_form

if TYPE_CHECKING:
    from tiltmeter.datasets.validation import ValidationResult

__all__ = [
    "DATASETS",
    "allows_text_export",
    "explain_missing_texts",
    "get_dataset",
    "load",
    "load_file",
    "load_spec",
    "load_with_findings",
    "names",
    "reject_text_export",
    "validate_spec",
]


def names() -> list[str]:
    """Return the names of all data sets, including the data sets of plug-ins.

    >>> names()[:3]
    ['starter', 'starter-pairs', 'starter-gest']
    """
    return list(DATASETS)


def get_dataset(name: str) -> Dataset:
    """Return the data set with this name; raise an error if there is no such data set."""
    if name not in DATASETS:
        if (Path(name) / PUBLISHED_ITEMS).is_file():
            raise UsageError(
                f"There is no data set {name!r}; to use the folder of this name, write {name}/ with a slash at the end."
            )
        known = ", ".join(DATASETS)
        suggestion = suggest_name(name, DATASETS)
        raise UsageError(
            f"There is no data set {name!r}{suggestion}; give one of {known}, or the path of a .jsonl, .csv, .tsv or "
            ".xlsx file."
        )
    return DATASETS[name]


def load(name: str, part: str | None = None, language: str | None = None) -> list[Item]:
    """Return the items of a data set; `part=None` selects all parts, `language=None` all languages.

    >>> load("starter", "intrasentence", "en")[0].target
    'grandmother'
    """
    sources = get_dataset(name).select(part, () if language is None else [language])
    return [item for result in _load_sources(sources, part) for item in result.items]


def load_file(path: Path | str) -> list[Item]:
    """Return the items of a JSONL file."""
    # Imported here, because listing data sets does not need the reader of JSONL files.
    from tiltmeter.datasets.readers.jsonl import read_jsonl

    return read_jsonl(Path(path))


def load_spec(spec: Spec) -> list[Item]:
    """Return the items that a specification such as `stereoset:en,de` selects, grouped by language."""
    return [item for result in load_with_findings(spec) for item in result.items]


def load_with_findings(spec: Spec) -> "list[ValidationResult]":
    """Return the validation results of the files that a specification selects, with only the selected items.

    Raise an error if a file of the user is invalid. In the released files of a data set, rows with errors are omitted.
    """
    if spec.path is None:
        known = get_dataset(spec.name)
        sources = [
            source for language in spec.languages or known.languages for source in known.select(spec.part, [language])
        ]
        return _load_sources(sources, spec.part)
    (result,) = validate_spec(spec)
    available = tuple(dict.fromkeys(item.language for item in result.require_valid_items()))
    for language in spec.languages:
        if language not in available:
            raise UsageError(f"{spec.name} has no language {language!r}; it has {', '.join(available)}.")
    selected = [_select_items(result, spec.part, language) for language in spec.languages or available]
    if not any(result.items for result in selected):
        raise UsageError(f"{spec.name} has no items of the part {spec.part!r}.")
    return selected


def validate_spec(spec: Spec) -> "list[ValidationResult]":
    """Return the validation result of each file that a specification selects."""
    if spec.path is not None:
        from tiltmeter.datasets.readers.jsonl import parse
        from tiltmeter.datasets.readers.spreadsheet_items import parse_item_table
        from tiltmeter.datasets.validation import validate_records

        if is_table(spec.path):
            records = parse_item_table(spec.path, dict(spec.columns), get_table_language(spec))
            return [validate_records(str(spec.path), records)]
        return [validate_records(str(spec.path), parse(spec.path))]
    return [source.validate() for source in get_dataset(spec.name).select(spec.part, spec.languages)]


def get_table_language(spec: Spec) -> str | None:
    """Return the language of the items in a table without a column for the language; None if none is given."""
    return spec.languages[0] if len(spec.languages) == 1 else None


def describe_table(text: str) -> str | None:
    """Return a sentence with the columns that are used of a table; None if the specification names no table."""
    spec = parse_spec(text)
    if spec.path is None or not is_table(spec.path):
        return None
    from tiltmeter.datasets.raw_records import BrokenFileError
    from tiltmeter.datasets.readers.spreadsheet_items import describe_item_table

    try:
        return describe_item_table(spec.path, dict(spec.columns), get_table_language(spec))
    except BrokenFileError as error:
        raise DataError(f"{spec.path}: {error}.") from error


def allows_text_export(name: str) -> bool:
    """Return whether the texts of a data set may be written to files.

    They may not if the repository of the data set states no licence, or if the data set is gated.
    """
    return name not in DATASETS or DATASETS[name].may_be_exported


def explain_missing_texts(name: str) -> str:
    """Return a sentence that says why runs and reports do not contain the texts of a data set."""
    return f"The texts of {name} are left out, because {_explain_restriction(name)}."


def _explain_restriction(name: str) -> str:
    if name in DATASETS and DATASETS[name].has_stated_licence:
        return "it is gated: only users who accepted its conditions may have it"
    return "its repository states no licence"


def reject_text_export(name: str) -> None:
    """Raise an error if the texts of a data set may not be written to files."""
    if not allows_text_export(name):
        raise UsageError(
            f"{name} cannot be written to a file or made into a project, because {_explain_restriction(name)}; "
            f"`tiltmeter data show {name}` prints its items."
        )


def _load_sources(sources: Sequence[Source], part: str | None) -> "list[ValidationResult]":
    """Return the validation results of files, with only the items of a part; raise an error if no item is usable."""
    results = [source.load() for source in sources]
    if results and not any(result.items for result in results):
        results[0].require_valid_items()
    return [_select_items(result, part) for result in results]


def _select_items(result: "ValidationResult", part: str | None, language: str | None = None) -> "ValidationResult":
    """Return the result with only the items of a part and a language; None selects all parts or all languages."""

    def is_selected(item: Item) -> bool:
        return language in (None, item.language) and (part is None or get_item_form(item).belongs_to(item, part))

    return replace(
        result,
        items=[item for item in result.items if is_selected(item)],
        warned=[(item, finding) for item, finding in result.warned if is_selected(item)],
    )
