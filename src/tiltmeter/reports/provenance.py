"""How the numbers of a report came about: what its last section says."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.datasets.by_name import DATASETS
from tiltmeter.measures import measures
from tiltmeter.measures.records import Record
from tiltmeter.reports.clean import clip, label, short_names
from tiltmeter.reports.languages import language_name


@dataclass(frozen=True, slots=True)
class Omission:
    """What was not measured, how much of it, and why."""

    model: str
    place: str
    count: str
    reason: str


@dataclass(frozen=True, slots=True)
class About:
    """What there is to know of a data set; nothing where it is a user's own file."""

    name: str
    description: str
    licence: str
    warning: str
    limits: tuple[str, ...]
    citation: str


def omissions(manifest: Mapping[str, Any]) -> list[Omission]:
    """The parts that a model could not be asked, and the items that could not be scored."""
    found = [
        Omission(label(entry["model"]), _place(entry), "the whole part", clip(str(entry["reason"]), 400))
        for entry in manifest.get("refused", ())
    ]
    counts: dict[tuple[str, str, str], int] = {}
    for entry in manifest.get("skipped", ()):
        key = (label(entry["model"]), _place(entry), clip(str(entry["reason"]), 400))
        counts[key] = counts.get(key, 0) + 1
    return found + [
        Omission(model, place, f"{count:,} item{'s' * (count != 1)}", reason)
        for (model, place, reason), count in counts.items()
    ]


def facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The manifest, entry by entry, except for what has a table of its own."""
    rows = [("asked for", _said(manifest.get("request", {})))]
    for model in manifest.get("models", ()):
        rows.append(
            (f"model {label(str(model.get('name', '')))}", _said({k: v for k, v in model.items() if k != "name"}))
        )
    rows += [
        (name, _said(manifest[name])) for name in ("statistics", "versions", "python", "platform") if name in manifest
    ]
    rows += [(name, _said(manifest[name])) for name in ("finished", "seconds") if name in manifest]
    return rows


def notes(manifest: Mapping[str, Any]) -> list[str]:
    """What the run itself had to say."""
    return [clip(str(note)) for note in manifest.get("notes", ())]


def data_files(manifest: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Benchmark and language, the number of items, the file and its SHA-256; each file once."""
    found: dict[tuple[str, str, str], int] = {}
    for data in manifest.get("data", ()):
        name = next(iter(short_names([str(data["benchmark"])]).values()))
        place = f"{name}:{label(str(data['language']))}"
        for name, digest in (data.get("files") or {"": ""}).items():
            key = (place, label(str(name), 100), str(digest))
            found[key] = found.get(key, 0) + int(data.get("items", 0))
    return [(place, f"{count:,}", name, digest) for (place, name, digest), count in found.items()]


def about(names: Iterable[str]) -> list[About]:
    """The data sets of these names."""
    found = [DATASETS[name] for name in dict.fromkeys(names) if name in DATASETS]
    return [About(d.name, d.description, d.licence, d.warning, d.limits, d.citation) for d in found]


def definitions(records: Sequence[Record]) -> list[tuple[str, str]]:
    """What the measures of these records are."""
    there = {record.measure for record in records}
    return [(name, measure.meaning) for name, measure in measures().items() if name in there and measure.meaning]


def _place(entry: Mapping[str, Any]) -> str:
    part = "" if entry["part"] == "all" else f", {entry['part']}"
    return label(f"{entry['benchmark']}{part}, {language_name(str(entry['language']))}", 100)


def _said(value: Any) -> str:
    """A value of the manifest as a line of text."""
    if isinstance(value, Mapping):
        return clip("; ".join(f"{key}: {_said(some)}" for key, some in value.items() if some is not None), 2_000)
    if isinstance(value, list | tuple):
        return clip(", ".join(_said(some) for some in value), 2_000)
    return clip(value if isinstance(value, str) else json.dumps(value), 2_000)
