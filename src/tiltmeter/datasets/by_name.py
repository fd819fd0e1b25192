"""Load and validate items by data set name, file path or specification."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tiltmeter.datasets.catalogue import DATASETS
from tiltmeter.datasets.description import Dataset, Source
from tiltmeter.datasets.spec import PUBLISHED_ITEMS, Spec
from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.errors import UsageError
from tiltmeter.forms import Item, form_of

if TYPE_CHECKING:
    from tiltmeter.datasets.validate import Examination

__all__ = [
    "DATASETS",
    "dataset",
    "examine_spec",
    "keeps_texts",
    "load",
    "load_examined",
    "load_file",
    "load_spec",
    "names",
    "refuse_export",
    "without_texts",
]


def names() -> list[str]:
    """The names of all data sets, those of plug-ins included.

    >>> names()[:3]
    ['starter', 'starter-pairs', 'starter-gest']
    """
    return list(DATASETS)


def dataset(name: str) -> Dataset:
    """The data set with this name."""
    if name not in DATASETS:
        if (Path(name) / PUBLISHED_ITEMS).is_file():
            raise UsageError(f"There is no data set {name!r}; the folder of that name is {name}/, with the slash.")
        known = ", ".join(DATASETS)
        suggestion = did_you_mean(name, DATASETS)
        raise UsageError(f"There is no data set {name!r}{suggestion}; there are {known}, and paths of .jsonl files.")
    return DATASETS[name]


def load(name: str, part: str | None = None, language: str | None = None) -> list[Item]:
    """The items of a data set; None means all parts, or all languages.

    >>> load("starter", "intrasentence", "en")[0].target
    'grandmother'
    """
    sources = dataset(name).select(part, () if language is None else [language])
    return [item for examined in _load_sources(sources, part) for item in examined.items]


def load_file(path: Path | str) -> list[Item]:
    """The items of a JSONL file."""
    from tiltmeter.datasets.readers.jsonl import read_jsonl  # readers are not needed to list data sets

    return read_jsonl(Path(path))


def load_spec(spec: Spec) -> list[Item]:
    """The items that a specification selects, language by language."""
    return [item for examined in load_examined(spec) for item in examined.items]


def load_examined(spec: Spec) -> "list[Examination]":
    """The files that a specification selects, language by language, with the items that it selects and all findings.

    A DataError for a file of one's own with errors. Rows of released files that have errors are left out.
    """
    if spec.path is None:
        known = dataset(spec.name)
        sources = [
            source for language in spec.languages or known.languages for source in known.select(spec.part, [language])
        ]
        return _load_sources(sources, spec.part)
    (examined,) = examine_spec(spec)
    available = tuple(dict.fromkeys(item.language for item in examined.accept()))
    for language in spec.languages:
        if language not in available:
            raise UsageError(f"{spec.name} has no language {language!r}; it has {', '.join(available)}.")
    found = [_selected(examined, spec.part, language) for language in spec.languages or available]
    if not any(one.items for one in found):
        raise UsageError(f"{spec.name} has no items of the part {spec.part!r}.")
    return found


def examine_spec(spec: Spec) -> "list[Examination]":
    """The validation result of each file that a specification selects."""
    if spec.path is not None:
        from tiltmeter.datasets.readers.jsonl import parse
        from tiltmeter.datasets.validate import examine

        return [examine(str(spec.path), parse(spec.path))]
    return [source.examine() for source in dataset(spec.name).select(spec.part, spec.languages)]


def keeps_texts(name: str) -> bool:
    """Whether the texts of a data set may be written to files: those of a repository without a licence may not."""
    return name not in DATASETS or DATASETS[name].licence_stated


def without_texts(name: str) -> str:
    """Why runs and reports have no texts of a data set that `keeps_texts` is False for."""
    return f"The texts of {name} are left out, since its repository states no licence."


def refuse_export(name: str) -> None:
    """A UsageError if the texts of a data set may not be written to files."""
    if not keeps_texts(name):
        raise UsageError(
            f"{name} cannot be written to a file or made into a project, since its repository states no licence; "
            f"`tiltmeter data show {name}` prints its items."
        )


def _load_sources(sources: Sequence[Source], part: str | None) -> "list[Examination]":
    """The files with their items of a part; a DataError if not one of them has a usable item."""
    found = [source.load() for source in sources]
    if found and not any(examined.items for examined in found):
        found[0].accept()
    return [_selected(examined, part) for examined in found]


def _selected(examined: "Examination", part: str | None, language: str | None = None) -> "Examination":
    """A file with only the items of a part and a language; None selects all."""

    def is_selected(item: Item) -> bool:
        return language in (None, item.language) and (part is None or form_of(item).belongs_to(item, part))

    return replace(
        examined,
        items=[item for item in examined.items if is_selected(item)],
        warned=[(item, finding) for item, finding in examined.warned if is_selected(item)],
    )
