"""Portions: the items of one data set, part and language, with the hashes of their files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tiltmeter.benchmarks import benchmark_for
from tiltmeter.datasets import Spec, load_spec, parse_spec
from tiltmeter.datasets.by_name import dataset
from tiltmeter.datasets.hashing import sha256_of
from tiltmeter.forms import Item, form_of

# The value of `part` for data sets that are not divided into parts.
UNDIVIDED = "all"


@dataclass(frozen=True, slots=True)
class Portion:
    """The items of one data set, part and language; `files` maps file names to SHA-256 hashes."""

    name: str
    form: str
    part: str
    language: str
    items: Sequence[Any]
    files: dict[str, str]

    def with_items(self, items: Sequence[Any]) -> "Portion":
        """The same portion with other items."""
        return replace(self, items=items)

    def in_parts(self, parts: Sequence[str]) -> list["Portion"]:
        """The same items once for each of these parts; unchanged if the portion is already one part."""
        return [replace(self, part=part) for part in parts] if parts and self.part == UNDIVIDED else [self]

    def label(self) -> dict[str, str]:
        """The columns that identify this portion."""
        return {"benchmark": self.name, "part": self.part, "language": self.language}

    def describe(self) -> dict[str, Any]:
        """The entry in the manifest."""
        return {**self.label(), "items": len(self.items), "files": self.files}


def measures_of(portion: Portion, *, chatting: bool) -> str:
    """The measures of a portion's scores: of what chat models choose, or of what others find likely."""
    benchmark = benchmark_for(portion.form)
    return benchmark.choice_measures if chatting else benchmark.measures


def portions(text: str) -> Iterator[Portion]:
    """The portions of a specification such as `stereoset/intrasentence:de`."""
    spec = parse_spec(text)
    files = _hashes(spec)
    by_portion: dict[tuple[str, str, str], list[Item]] = {}
    for item in load_spec(spec):
        form = form_of(item)
        part = form.part_of(item) or spec.part or UNDIVIDED
        by_portion.setdefault((form.name, part, item.language), []).append(item)
    for (form_name, part, language), items in by_portion.items():
        used = {
            name: digest
            for name, digest, file_language, file_part in files
            if file_language in (None, language) and file_part in (None, part)
        }
        yield Portion(spec.name, form_name, part, language, items, used)


def _hashes(spec: Spec) -> list[tuple[str, str, str | None, str | None]]:
    """Each file with its SHA-256, language and part; None if it holds several."""
    if spec.path is not None:
        return [(spec.path.name, sha256_of(spec.path), None, None)] if spec.path.is_file() else []
    return [
        (file.name, sha256_of(path), source.language, source.part)
        for source in dataset(spec.name).select(spec.part, spec.languages)
        for file, path in zip(source.files, source.paths(), strict=True)
    ]
