"""Portions: the items of one data set, part and language, with the hashes of their files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.datasets import Spec, parse_spec
from tiltmeter.datasets.dataset_loader import get_dataset, load_with_findings
from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.datasets.findings import Finding
from tiltmeter.forms import Item, get_item_form

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

    def split_into_parts(self, parts: Sequence[str]) -> list["Portion"]:
        """The same items once for each of these parts; unchanged if the portion is already one part."""
        return [replace(self, part=part) for part in parts] if parts and self.part == UNDIVIDED else [self]

    def label(self) -> dict[str, str]:
        """The columns that identify this portion."""
        return {"benchmark": self.name, "part": self.part, "language": self.language}

    def describe(self) -> dict[str, Any]:
        """The entry in the manifest."""
        warnings = {"warnings": counts} if (counts := self.count_warnings()) else {}
        return {**self.label(), "items": len(self.items), "files": self.files, **warnings}

    def count_warnings(self) -> dict[str, int]:
        """How many of the items have a warning that changes what a number means, by its code."""
        ids = {item.id for item in self.items} if self.warnings else set()
        counts = {code: len(ids & warned) for code, warned in sorted(self.warnings.items())}
        return {code: count for code, count in counts.items() if count}


def select_measure_module(portion: Portion, *, chatting: bool) -> str:
    """The measures of a portion's scores: of what chat models choose, or of what others find likely."""
    benchmark = get_benchmark(portion.form)
    return benchmark.choice_measures if chatting else benchmark.measures


def load_portions(text: str) -> Iterator[Portion]:
    """The portions of a specification such as `stereoset/intrasentence:de`."""
    spec = parse_spec(text)
    files = _list_hashes(spec)
    by_portion: dict[tuple[str, str, str], list[Item]] = {}
    warned: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    left_out: list[Finding] = []

    def key(item: Item) -> tuple[str, str, str]:
        form = get_item_form(item)
        return form.name, form.part_of(item) or spec.part or UNDIVIDED, item.language

    for examined in load_with_findings(spec):
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


def _list_hashes(spec: Spec) -> list[tuple[str, str, str | None, str | None]]:
    """Each file with its SHA-256, language and part; None if it holds several."""
    if spec.path is not None:
        return [(spec.path.name, get_sha256(spec.path), None, None)] if spec.path.is_file() else []
    return [
        (file.name, get_sha256(path), source.language, source.part)
        for source in get_dataset(spec.name).select(spec.part, spec.languages)
        for file, path in zip(source.files, source.paths(), strict=True)
    ]
