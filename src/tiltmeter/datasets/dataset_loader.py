"""Load and validate items by data set name, file path or specification."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tiltmeter.datasets.catalogue import DATASETS
from tiltmeter.datasets.dataset_definition import Dataset, Source
from tiltmeter.datasets.dataset_spec import PUBLISHED_ITEMS, Spec
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
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
    "reject_export",
    "validate_spec",
]


def names() -> list[str]:
    """The names of all data sets, those of plug-ins included.

    >>> names()[:3]
    ['starter', 'starter-pairs', 'starter-gest']
    """
    return list(DATASETS)


def get_dataset(name: str) -> Dataset:
    """The data set with this name."""
    if name not in DATASETS:
        if (Path(name) / PUBLISHED_ITEMS).is_file():
            raise UsageError(f"There is no data set {name!r}; the folder of that name is {name}/, with the slash.")
        known = ", ".join(DATASETS)
        suggestion = suggest_name(name, DATASETS)
        raise UsageError(f"There is no data set {name!r}{suggestion}; there are {known}, and paths of .jsonl files.")
    return DATASETS[name]


def load(name: str, part: str | None = None, language: str | None = None) -> list[Item]:
    """The items of a data set; None means all parts, or all languages.

    >>> load("starter", "intrasentence", "en")[0].target
    'grandmother'
    """
    sources = get_dataset(name).select(part, () if language is None else [language])
    return [item for examined in _load_sources(sources, part) for item in examined.items]


def load_file(path: Path | str) -> list[Item]:
    """The items of a JSONL file."""
    from tiltmeter.datasets.readers.jsonl import read_jsonl  # readers are not needed to list data sets

    return read_jsonl(Path(path))


def load_spec(spec: Spec) -> list[Item]:
    """The items that a specification selects, language by language."""
    return [item for examined in load_with_findings(spec) for item in examined.items]


def load_with_findings(spec: Spec) -> "list[ValidationResult]":
    """The files that a specification selects, language by language, with the items that it selects and all findings.

    A DataError for a file of one's own with errors. Rows of released files that have errors are left out.
    """
    if spec.path is None:
        known = get_dataset(spec.name)
        sources = [
            source for language in spec.languages or known.languages for source in known.select(spec.part, [language])
        ]
        return _load_sources(sources, spec.part)
    (examined,) = validate_spec(spec)
    available = tuple(dict.fromkeys(item.language for item in examined.accept()))
    for language in spec.languages:
        if language not in available:
            raise UsageError(f"{spec.name} has no language {language!r}; it has {', '.join(available)}.")
    found = [_select_items(examined, spec.part, language) for language in spec.languages or available]
    if not any(one.items for one in found):
        raise UsageError(f"{spec.name} has no items of the part {spec.part!r}.")
    return found


def validate_spec(spec: Spec) -> "list[ValidationResult]":
    """The validation result of each file that a specification selects."""
    if spec.path is not None:
        from tiltmeter.datasets.readers.jsonl import parse
        from tiltmeter.datasets.validation import validate_records

        return [validate_records(str(spec.path), parse(spec.path))]
    return [source.validate() for source in get_dataset(spec.name).select(spec.part, spec.languages)]


def allows_text_export(name: str) -> bool:
    """Whether the texts of a data set may be written to files: those of a repository without a licence may not."""
    return name not in DATASETS or DATASETS[name].licence_stated


def explain_missing_texts(name: str) -> str:
    """Why runs and reports have no texts of a data set that `allows_text_export` is False for."""
    return f"The texts of {name} are left out, since its repository states no licence."


def reject_export(name: str) -> None:
    """A UsageError if the texts of a data set may not be written to files."""
    if not allows_text_export(name):
        raise UsageError(
            f"{name} cannot be written to a file or made into a project, since its repository states no licence; "
            f"`tiltmeter data show {name}` prints its items."
        )


def _load_sources(sources: Sequence[Source], part: str | None) -> "list[ValidationResult]":
    """The files with their items of a part; a DataError if not one of them has a usable item."""
    found = [source.load() for source in sources]
    if found and not any(examined.items for examined in found):
        found[0].accept()
    return [_select_items(examined, part) for examined in found]


def _select_items(examined: "ValidationResult", part: str | None, language: str | None = None) -> "ValidationResult":
    """A file with only the items of a part and a language; None selects all."""

    def is_selected(item: Item) -> bool:
        return language in (None, item.language) and (part is None or get_item_form(item).belongs_to(item, part))

    return replace(
        examined,
        items=[item for item in examined.items if is_selected(item)],
        warned=[(item, finding) for item, finding in examined.warned if is_selected(item)],
    )
