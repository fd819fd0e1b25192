"""Load and validate items by data set name, file path or specification."""

from collections.abc import Iterable
from pathlib import Path

from tiltmeter.datasets.catalogue import DATASETS
from tiltmeter.datasets.description import Dataset
from tiltmeter.datasets.readers import jsonl
from tiltmeter.datasets.spec import PUBLISHED_ITEMS, Spec
from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.datasets.validate import Examination, examine
from tiltmeter.errors import UsageError
from tiltmeter.forms import Item, form_of

__all__ = [
    "DATASETS",
    "dataset",
    "examine_spec",
    "keeps_texts",
    "load",
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
    return _of_part((item for source in sources for item in source.examine().accept()), part)


def load_file(path: Path | str) -> list[Item]:
    """The items of a JSONL file."""
    return jsonl.read_jsonl(Path(path))


def load_spec(spec: Spec) -> list[Item]:
    """The items that a specification selects, language by language."""
    if spec.path is None:
        languages = spec.languages or dataset(spec.name).languages
        return [item for language in languages for item in load(spec.name, spec.part, language)]
    items = load_file(spec.path)
    available = tuple(dict.fromkeys(item.language for item in items))
    for language in spec.languages:
        if language not in available:
            raise UsageError(f"{spec.name} has no language {language!r}; it has {', '.join(available)}.")
    items = [item for language in spec.languages or available for item in items if item.language == language]
    selected = _of_part(items, spec.part)
    if not selected:
        raise UsageError(f"{spec.name} has no items of the part {spec.part!r}.")
    return selected


def examine_spec(spec: Spec) -> list[Examination]:
    """The validation result of each file that a specification selects."""
    if spec.path is not None:
        return [examine(str(spec.path), jsonl.parse(spec.path))]
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


def _of_part(items: Iterable[Item], part: str | None) -> list[Item]:
    return [item for item in items if part is None or form_of(item).belongs_to(item, part)]
