"""The provenance section of a report: models, data, settings, versions, and items that were not measured."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.datasets.dataset_loader import DATASETS
from tiltmeter.measures import list_measures
from tiltmeter.measures.records import Record
from tiltmeter.reports.display_text import clip_text, format_label, shorten_names
from tiltmeter.reports.formatting import format_count
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.model_facts import HEADINGS, describe_model
from tiltmeter.runs.manifest import FlaggedItem, Manifest, RefusedPart, UnscoredItem
from tiltmeter.runs.typed_json import to_json

_MOST_LISTED = 200  # maximum number of flagged items that a report names

# Limits of benchmarks that detect the gender of the speaker in translated sentences.
_LIMITS_OF_TRANSLATIONS = (
    "a translation without a gender is not counted: a system that avoids gender has a low yield, not a low f_m (the "
    "share of masculine translations)",
    "f_s cannot be high if nearly all translations are masculine; compare it between systems with a similar f_m",
    "the gender is detected by rules or a parser, which miss a gender that only the meaning shows",
)


@dataclass(frozen=True, slots=True)
class Omission:
    """Items that were not measured, or a whole part that was not measured.

    `location` is the benchmark, part and language; `count` is the number of items as text.
    """

    model: str
    location: str
    count: str
    reason: str


@dataclass(frozen=True, slots=True)
class DataSetFacts:
    """The description of a data set from the catalogue of built-in data sets."""

    name: str
    description: str
    licence: str
    warning: str
    limits: tuple[str, ...]
    citation: str


def list_omissions(manifest: Manifest) -> list[Omission]:
    """Return the parts that cannot be measured with a model, and the items that could not be scored."""
    parts = [
        Omission(format_label(entry.model), _format_location(entry), "the whole part", clip_text(entry.reason, 400))
        for entry in manifest.refused
    ]
    counts = Counter(
        (format_label(entry.model), _format_location(entry), clip_text(entry.reason, 400)) for entry in manifest.skipped
    )
    return parts + [
        Omission(model, location, format_count(count, "item"), reason)
        for (model, location, reason), count in counts.items()
    ]


@dataclass(frozen=True, slots=True)
class FlaggedItems:
    """Items that were scored although the model cannot read them; `listed` are the ids of the items."""

    model: str
    location: str
    count: str
    reason: str
    listed: str


def list_flagged_items(manifest: Manifest) -> list[FlaggedItems]:
    """Return the items that were scored although the model cannot read them, grouped by model, location and reason."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for entry in manifest.flagged:
        key = (format_label(entry.model), _format_location(entry), clip_text(entry.reason, 400))
        counts = f" ({entry.unknown} of {entry.scored})" if entry.scored is not None else ""
        groups.setdefault(key, []).append(f"{format_label(entry.item)}{counts}")
    return [
        FlaggedItems(model, location, format_count(len(items), "item"), reason, _join_items(items))
        for (model, location, reason), items in groups.items()
    ]


def _join_items(items: Sequence[str]) -> str:
    rest = f" and {len(items) - _MOST_LISTED:,} more, in manifest.json" if len(items) > _MOST_LISTED else ""
    return ", ".join(items[:_MOST_LISTED]) + rest


def list_facts(manifest: Manifest) -> list[tuple[str, str]]:
    """Return (name, value as text) for each entry of the manifest that the report does not show in a separate table."""
    rows = [("request", _format_value(manifest.request))]
    for model in manifest.models:
        details = {name: value for name, value in model.details.items() if name != "name"}
        rows.append((f"model {format_label(model.name)}", _format_value(details)))
    rows.append(("statistics", _format_value(to_json(manifest.statistics))))
    if manifest.versions:
        rows.append(("versions", _format_value(manifest.versions)))
    texts = {"python": manifest.python, "platform": manifest.platform, "finished": manifest.finished}
    rows += [(name, _format_value(text)) for name, text in texts.items() if text]
    return rows if manifest.seconds is None else [*rows, ("seconds", _format_value(manifest.seconds))]


def build_model_table(manifest: Manifest) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the headings of the table of models, and its rows: (name of the model, facts in the order of headings)."""
    entries = {entry.name: entry for entry in manifest.models}
    names = shorten_names(entries)
    described = [(format_label(names[name]), describe_model(entry)) for name, entry in entries.items()]
    used = [heading for heading in HEADINGS if any(heading in facts for _, facts in described)]
    return used, [(name, [facts.get(heading, "") for heading in used]) for name, facts in described]


def list_notes(manifest: Manifest) -> list[str]:
    """Return the notes in the manifest, shortened for display."""
    return [clip_text(note) for note in manifest.notes]


def list_data_files(manifest: Manifest) -> list[tuple[str, str, str, str]]:
    """Return (benchmark and language, number of items, file name, SHA-256) for each data file."""
    counts: dict[tuple[str, str, str], int] = {}
    for data in manifest.data:
        name = next(iter(shorten_names([data.benchmark]).values()))
        location = f"{name}:{format_label(data.language)}"
        for name, digest in (data.files or {"": ""}).items():
            key = (location, format_label(name, 100), digest)
            counts[key] = counts.get(key, 0) + data.items
    return [(location, f"{count:,}", name, digest) for (location, name, digest), count in counts.items()]


def describe_data_sets(names: Iterable[str], manifests: Iterable[Manifest] = ()) -> list[DataSetFacts]:
    """Return the descriptions of the data sets with these names; a user's own data file has no description.

    For a translation benchmark, such as `gest-mt`, return the description of the data set whose sentences were
    translated, with additional limits.
    """
    sources = {data.benchmark: data.source for manifest in manifests for data in manifest.data if data.source}
    facts = []
    for name in dict.fromkeys(names):
        data_set = DATASETS.get(name) or DATASETS.get(sources.get(name, ""))
        if data_set is not None:
            more = () if name in DATASETS else _LIMITS_OF_TRANSLATIONS
            limits = (*data_set.limits, *more)
            facts.append(
                DataSetFacts(name, data_set.description, data_set.licence, data_set.warning, limits, data_set.citation)
            )
    return facts


def list_definitions(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Return a list of (name, meaning), one for each measure in the records."""
    used = {record.measure for record in records}
    return [(name, measure.meaning) for name, measure in list_measures().items() if name in used and measure.meaning]


def _format_location(entry: RefusedPart | UnscoredItem | FlaggedItem) -> str:
    part = "" if entry.part == "all" else f", {entry.part}"
    return format_label(f"{entry.benchmark}{part}, {get_language_name(entry.language)}", 100)


def _format_value(value: Any) -> str:
    """Return a value of the manifest as text on one line."""
    if isinstance(value, Mapping):
        return clip_text(
            "; ".join(f"{key}: {_format_value(entry)}" for key, entry in value.items() if entry is not None), 2_000
        )
    if isinstance(value, list | tuple):
        return clip_text(", ".join(_format_value(entry) for entry in value), 2_000)
    return clip_text(value if isinstance(value, str) else json.dumps(value), 2_000)
