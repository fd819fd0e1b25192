"""What a run is on: the items of one data set, part and language, with where they came from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tiltmeter.datasets import Spec, load_spec, parse_spec
from tiltmeter.datasets.by_name import dataset
from tiltmeter.datasets.hashing import sha256_of
from tiltmeter.forms import Item, form_of

# What stands in the column `part` where a data set is not divided.
UNDIVIDED = "all"


@dataclass(frozen=True, slots=True)
class Portion:
    """The items of one data set, part and language. `files` are the hashes of the files they were read from."""

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
        """The same items once for each part that a benchmark asks them in; itself, if it is of a part already."""
        return [replace(self, part=part) for part in parts] if parts and self.part == UNDIVIDED else [self]

    def label(self) -> dict[str, str]:
        """The columns that tell this portion from others."""
        return {"benchmark": self.name, "part": self.part, "language": self.language}

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it."""
        return {**self.label(), "items": len(self.items), "files": self.files}


def portions(text: str) -> Iterator[Portion]:
    """The portions that a specification such as `stereoset/intrasentence:de` asks for."""
    spec = parse_spec(text)
    files = _hashes(spec)
    by_kind: dict[tuple[str, str, str], list[Item]] = {}
    for item in load_spec(spec):
        form = form_of(item)
        part = form.part_of(item) or spec.part or UNDIVIDED
        by_kind.setdefault((form.name, part, item.language), []).append(item)
    for (form_name, part, language), items in by_kind.items():
        used = {
            name: digest
            for name, digest, of_language, of_part in files
            if of_language in (None, language) and of_part in (None, part)
        }
        yield Portion(spec.name, form_name, part, language, items, used)


def _hashes(spec: Spec) -> list[tuple[str, str, str | None, str | None]]:
    """Each file with its SHA-256 and the language and the part that are read from it, if it is one."""
    if spec.path is not None:
        return [(spec.path.name, sha256_of(spec.path), None, None)] if spec.path.is_file() else []
    return [
        (file.name, sha256_of(path), source.language, source.part)
        for source in dataset(spec.name).select(spec.part, spec.languages)
        for file, path in zip(source.files, source.paths(), strict=True)
    ]
