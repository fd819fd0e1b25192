"""Portions: the items of one data set, part and language, with the hashes of their files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tiltmeter.benchmarks import benchmark_for
from tiltmeter.datasets import Spec, parse_spec
from tiltmeter.datasets.by_name import dataset, load_examined
from tiltmeter.datasets.findings import Finding
from tiltmeter.datasets.hashing import sha256_of
from tiltmeter.forms import Item, form_named, form_of
from tiltmeter.measures import measure_module
from tiltmeter.registry import identify_component
from tiltmeter.runs.manifest import Components, DataEntry

# The value of `part` for data sets that are not divided into parts.
UNDIVIDED = "all"


@dataclass(frozen=True, slots=True)
class Portion:
    """The items of one data set, part and language; `files` maps file names to SHA-256 hashes.

    `warnings` are the ids of items with a warning that changes what a number means, by its code. `left_out` are the
    findings of rows without a usable item; of several portions of one file, the first has them.
    """

    name: str
    form: str
    part: str
    language: str
    items: Sequence[Any]
    files: dict[str, str]
    warnings: Mapping[str, frozenset[str]] = field(default_factory=dict)
    left_out: Sequence[Finding] = ()

    def with_items(self, items: Sequence[Any]) -> "Portion":
        """The same portion with other items."""
        return replace(self, items=items)

    def in_parts(self, parts: Sequence[str]) -> list["Portion"]:
        """The same items once for each of these parts; unchanged if the portion is already one part."""
        return [replace(self, part=part) for part in parts] if parts and self.part == UNDIVIDED else [self]

    def label(self) -> dict[str, str]:
        """The columns that identify this portion."""
        return {"benchmark": self.name, "part": self.part, "language": self.language}

    def describe(self, available: int, *, is_chat: bool = False) -> DataEntry:
        """The entry in the manifest, with the number of items before sampling."""
        return DataEntry(
            **self.label(),
            items=len(self.items),
            available=available,
            files=self.files,
            warnings=self.warning_counts(),
            components=self.identify_components(is_chat=is_chat),
        )

    def identify_components(self, *, is_chat: bool) -> Components:
        """The form, benchmark and module of measures of this portion, with the packages that supply them."""
        module = measures_of(self, chatting=is_chat)
        return Components(
            identify_component("forms", self.form, form_named(self.form)),
            identify_component("benchmarks", self.form, benchmark_for(self.form)),
            identify_component("measures", module, measure_module(module)),
        )

    def warning_counts(self) -> dict[str, int]:
        """How many of the items have a warning that changes what a number means, by its code."""
        ids = {item.id for item in self.items} if self.warnings else set()
        counts = {code: len(ids & warned) for code, warned in sorted(self.warnings.items())}
        return {code: count for code, count in counts.items() if count}


def measures_of(portion: Portion, *, chatting: bool) -> str:
    """The measures of a portion's scores: of what chat models choose, or of what others find likely."""
    benchmark = benchmark_for(portion.form)
    return benchmark.choice_measures if chatting else benchmark.measures


def portions(text: str) -> Iterator[Portion]:
    """The portions of a specification such as `stereoset/intrasentence:de`."""
    spec = parse_spec(text)
    files = _hashes(spec)
    by_portion: dict[tuple[str, str, str], list[Item]] = {}
    warned: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    left_out: list[Finding] = []

    def key(item: Item) -> tuple[str, str, str]:
        form = form_of(item)
        return form.name, form.part_of(item) or spec.part or UNDIVIDED, item.language

    for examined in load_examined(spec):
        for item in examined.items:
            by_portion.setdefault(key(item), []).append(item)
        for item, finding in examined.warned:
            warned.setdefault(key(item), {}).setdefault(finding.code, set()).add(item.id)
        left_out += examined.left_out
    for found, items in by_portion.items():
        form_name, part, language = found
        used = {
            name: digest
            for name, digest, file_language, file_part in files
            if file_language in (None, language) and file_part in (None, part)
        }
        warnings = {code: frozenset(ids) for code, ids in warned.get(found, {}).items()}
        yield Portion(spec.name, form_name, part, language, items, used, warnings, left_out)
        left_out = []


def _hashes(spec: Spec) -> list[tuple[str, str, str | None, str | None]]:
    """Each file with its SHA-256, language and part; None if it holds several."""
    if spec.path is not None:
        return [(spec.path.name, sha256_of(spec.path), None, None)] if spec.path.is_file() else []
    return [
        (file.name, sha256_of(path), source.language, source.part)
        for source in dataset(spec.name).select(spec.part, spec.languages)
        for file, path in zip(source.files, source.paths(), strict=True)
    ]
