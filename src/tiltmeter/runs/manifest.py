"""The manifest of a run: request, models, data, statistics and versions, for reproducibility.

The module `manifest_file` reads and writes the file `manifest.json`. Its keys are the names of the fields below.
"""

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tiltmeter.measures.bootstrap import RESAMPLES, SEED
from tiltmeter.measures.looks import Look
from tiltmeter.measures.verdict_rule import ALPHA, PORTION, Families
from tiltmeter.registry import ComponentVersion, find_installed_version
from tiltmeter.runs.measurement_conditions import MeasurementConditions
from tiltmeter.runs.typed_json import ALL_KEYS, NOT_IN_JSON, OPTIONAL, OTHER_KEYS, from_json

# Libraries whose version can change results.
_LIBRARIES = ("tiltmeter", "torch", "transformers", "tokenizers", "numpy", "scipy", "pandas")


@dataclass(frozen=True, slots=True)
class ComputeUse:
    """The hardware, hours and watt-hours that a model's answers took; `energy` says how the watt-hours were found."""

    hardware: tuple[str, ...] = ()
    hours: float = 0.0
    energy_wh: float | None = None
    energy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """A model of a run. `details` is its complete description; the other fields are the values that Tiltmeter reads."""

    name: str
    kind: str | None = None
    type: str | None = None
    architecture: str | None = None
    revision: str | None = None
    weights: str | None = None
    dtype: str | None = None
    device: str | None = None
    base: str | None = None
    parameters: int | float | None = None
    layers: int | float | None = None
    vocabulary: int | float | None = None
    bytes: int | None = None
    tokens: int | None = None
    compute: ComputeUse | None = None
    quantized: Mapping[str, Any] | None = None
    adapter: Mapping[str, Any] | None = None
    head: Mapping[str, Any] | None = None
    split: Mapping[str, Any] | None = None
    unused_modules: Mapping[str, Any] | None = None
    disabled: Mapping[str, Any] | None = None
    chat_template: Any = None
    details: Mapping[str, Any] = field(default_factory=dict, metadata=ALL_KEYS)

    @property
    def hardware(self) -> str:
        """The devices on which the model ran, as text; `server` if the model ran on a server."""
        return ", ".join((self.compute.hardware if self.compute else ()) or (self.device or "server",))


def build_model_entry(details: Mapping[str, Any]) -> ModelEntry:
    """Build the entry of a model from `details`: JSON values with the model's name and description."""
    return from_json(ModelEntry, dict(details), f"the description of {details.get('name', 'a model')}")


@dataclass(frozen=True, slots=True)
class Components:
    """The components that measured a data set: the form of its items, the benchmark and the module of measures.

    `scorers` are the scorers of replies that the items name; it is None if they name none.
    """

    form: ComponentVersion
    benchmark: ComponentVersion
    measures: ComponentVersion
    scorers: tuple[ComponentVersion, ...] | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataEntry:
    """The items of one data set, part and language.

    `items` is the number of used items, `available` the number of all items. `files` maps file names to SHA-256 hashes.
    `warnings` maps the code of each warning that affects the interpretation of results to its number of items. For
    translations, `source` is the data set with the sentences, `item_language` is their language, and `edition` is the
    published version of GEST. `components` is None in manifests of older versions of Tiltmeter.
    """

    benchmark: str
    part: str
    language: str
    items: int = 0
    available: int | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, int] = field(default_factory=dict)
    source: str | None = field(default=None, metadata=OPTIONAL)
    item_language: str | None = field(default=None, metadata=OPTIONAL)
    edition: str | None = field(default=None, metadata=OPTIONAL)
    components: Components | None = field(default=None, metadata=OPTIONAL)

    @property
    def is_sample(self) -> bool:
        """Whether the run used only a sample of the items, because of --limit."""
        return bool(self.available) and self.items < (self.available or 0)


@dataclass(frozen=True, slots=True)
class RefusedPart:
    """A part of a benchmark that a model does not support."""

    model: str
    benchmark: str
    part: str
    language: str
    reason: str


@dataclass(frozen=True, slots=True)
class UnscoredItem:
    """An item that could not be scored."""

    model: str
    benchmark: str
    part: str
    language: str
    item: str
    reason: str


@dataclass(frozen=True, slots=True)
class FlaggedItem:
    """An item that was scored although the model cannot read it.

    `scored` is the number of its scored tokens, `unknown` the number of those that the tokenizer does not know.
    """

    model: str
    benchmark: str
    part: str
    language: str
    item: str
    reason: str
    unknown: int | None = field(default=None, metadata=OPTIONAL)
    scored: int | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class LeftOutRow:
    """A row of a released file that contains no usable item."""

    benchmark: str
    file: str
    row: str
    item: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """How intervals and tests were computed; `margins` are equivalence margins that replace the defaults.

    `families` says which tests were corrected together: those of a part and language, or those of the whole run.
    `fixed` are the factors over which the results do not generalise, such as `words`.
    """

    interval: float | None = field(default=None, metadata=OPTIONAL)
    level: float | None = field(default=None, metadata=OPTIONAL)
    correction: str | None = field(default=None, metadata=OPTIONAL)
    families: str = PORTION
    fixed: tuple[str, ...] = ()
    margins: Mapping[str, float] = field(default_factory=dict)
    resamples: int | None = field(default=None, metadata=OPTIONAL)
    seed: int | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest of a run.

    `request` has the arguments of the run, `asked` the conditions of each measurement, and `refused` the parts that a
    model does not support. `looks` tell which samples of the items were tested before. `digests` are SHA-256 hashes
    of the run's files; `is_edited` says whether `manifest.json` was changed after it was written. `other` has the keys
    that this version of Tiltmeter does not know.
    """

    request: Mapping[str, Any]
    models: tuple[ModelEntry, ...]
    data: tuple[DataEntry, ...]
    asked: tuple[MeasurementConditions, ...]
    refused: tuple[RefusedPart, ...]
    left_out: tuple[LeftOutRow, ...] = ()
    skipped: tuple[UnscoredItem, ...]
    flagged: tuple[FlaggedItem, ...] = ()
    looks: tuple[Look, ...] = ()
    notes: tuple[str, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    versions: Mapping[str, str] = field(default_factory=dict)
    python: str = ""
    platform: str = ""
    finished: str = ""
    seconds: float | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict, metadata=OTHER_KEYS)
    is_edited: bool = field(default=False, compare=False, metadata=NOT_IN_JSON)

    @property
    def portions(self) -> frozenset[tuple[str, str]]:
        """The pairs (benchmark, language) of the measurements."""
        return frozenset((entry.benchmark, entry.language) for entry in self.asked)

    def find_model(self, name: str) -> ModelEntry | None:
        """Return the entry of the model with this name; None if there is no such model."""
        return next((entry for entry in self.models if entry.name == name), None)

    def list_forms(self) -> list[str]:
        """Return the sorted names of the forms of the items, such as `association`."""
        return sorted({entry.components.form.name for entry in self.data if entry.components is not None})

    def get_measure_modules(self) -> dict[str, str]:
        """Return a mapping from each benchmark to the module of measures that the manifest records for it."""
        return {entry.benchmark: entry.components.measures.name for entry in self.data if entry.components is not None}

    def index_data_sets(self) -> "dict[tuple[str, str], DataSetFiles]":
        """Return a mapping from (data set name, language) to the files of the data set."""
        found: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
        for entry in self.data:
            found.setdefault((entry.benchmark, entry.language), {})[entry.part] = entry.files
        return {key: DataSetFiles(parts) for key, parts in found.items()}


@dataclass(frozen=True, slots=True)
class DataSetFiles:
    """The files of a data set in one language; `parts` maps each part to its file names and their SHA-256 hashes."""

    parts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def get_edition(self, part: str) -> frozenset[str]:
        """Return the SHA-256 hashes of the files of a part, which identify the edition (the version) of the data.

        Return the hashes of all parts if the part is unknown.
        """
        files = self.parts.get(part) or {name: digest for own in self.parts.values() for name, digest in own.items()}
        return frozenset(files.values())


def build_manifest(
    request: Mapping[str, Any],
    *,
    models: Iterable[ModelEntry],
    data: Iterable[DataEntry],
    asked: Iterable[MeasurementConditions],
    refused: Iterable[RefusedPart] = (),
    left_out: Iterable[LeftOutRow] = (),
    skipped: Iterable[UnscoredItem] = (),
    flagged: Iterable[FlaggedItem] = (),
    looks: Iterable[Look] = (),
    notes: Sequence[str] = (),
    margins: Mapping[str, float] | None = None,
    families: Families = PORTION,
    fixed: Iterable[str] = (),
    seconds: float,
) -> Manifest:
    """Return the manifest of a run that ends now and took `seconds`."""
    return Manifest(
        request=dict(request),
        models=tuple(models),
        data=tuple(data),
        asked=tuple(asked),
        refused=tuple(refused),
        left_out=tuple(left_out),
        skipped=tuple(skipped),
        flagged=tuple(flagged),
        looks=tuple(looks),
        notes=tuple(notes),
        statistics=Statistics(
            interval=0.95,
            level=ALPHA,
            correction="Holm",
            families=families,
            fixed=tuple(fixed),
            margins=dict(margins or {}),
            resamples=RESAMPLES,
            seed=SEED,
        ),
        versions={name: installed for name in _LIBRARIES if (installed := find_installed_version(name))},
        python=platform.python_version(),
        platform=platform.platform(),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(seconds, 3),
    )
