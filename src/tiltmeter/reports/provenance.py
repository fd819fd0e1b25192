"""The provenance section of a report: data, protocol, versions, and everything that was left out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.datasets.dataset_loader import DATASETS
from tiltmeter.measures import list_measures
from tiltmeter.measures.records import Record
from tiltmeter.reports.display_text import clip, format_label, shorten_names
from tiltmeter.reports.formatting import format_count
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.model_facts import HEADINGS, describe_model

# Items in doubt that a report names one by one.
_MOST_LISTED = 200


# Where sentences of a data set for language models are translated, and the gender of the speaker is told.
_LIMITS_OF_TRANSLATIONS = (
    "a translation without a gender is not counted: a system that avoids gender has a low yield, not a low f_m",
    "f_s cannot be high where nearly all translations are masculine; compare it between systems with a similar f_m",
    "the gender is told by rules or a parser, which miss what only the meaning shows",
)


@dataclass(frozen=True, slots=True)
class Omission:
    """Items or a part that were not measured, how many, and why."""

    model: str
    location: str
    count: str
    reason: str


@dataclass(frozen=True, slots=True)
class DataSetFacts:
    """The description of a data set of the catalogue."""

    name: str
    description: str
    licence: str
    warning: str
    limits: tuple[str, ...]
    citation: str


def list_omissions(manifest: Mapping[str, Any]) -> list[Omission]:
    """The parts that do not apply to a model, and the items that could not be scored."""
    refused = [
        Omission(
            format_label(entry["model"]), _format_location(entry), "the whole part", clip(str(entry["reason"]), 400)
        )
        for entry in manifest.get("refused", ())
    ]
    counts: dict[tuple[str, str, str], int] = {}
    for entry in manifest.get("skipped", ()):
        key = (format_label(entry["model"]), _format_location(entry), clip(str(entry["reason"]), 400))
        counts[key] = counts.get(key, 0) + 1
    return refused + [
        Omission(model, location, format_count(count, "item"), reason)
        for (model, location, reason), count in counts.items()
    ]


@dataclass(frozen=True, slots=True)
class FlaggedItems:
    """Items that were scored although the model cannot read them: how many, why, and each with its unknown tokens."""

    model: str
    location: str
    count: str
    reason: str
    listed: str


def list_flagged_items(manifest: Mapping[str, Any]) -> list[FlaggedItems]:
    """The items that were scored although the model cannot read them, by model, portion and reason."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for entry in manifest.get("flagged", ()):
        key = (format_label(entry["model"]), _format_location(entry), clip(str(entry["reason"]), 400))
        counts = f" ({entry['unknown']} of {entry['scored']})" if "scored" in entry else ""
        groups.setdefault(key, []).append(f"{format_label(str(entry['item']))}{counts}")
    return [
        FlaggedItems(model, location, format_count(len(items), "item"), reason, _join_items(items))
        for (model, location, reason), items in groups.items()
    ]


def _join_items(items: Sequence[str]) -> str:
    rest = f" and {len(items) - _MOST_LISTED:,} more, in manifest.json" if len(items) > _MOST_LISTED else ""
    return ", ".join(items[:_MOST_LISTED]) + rest


def list_facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The entries of the manifest that have no table of their own, with their values as text."""
    rows = [("asked for", _format_value(manifest.get("request", {})))]
    for model in manifest.get("models", ()):
        rows.append(
            (
                f"model {format_label(str(model.get('name', '')))}",
                _format_value({k: v for k, v in model.items() if k != "name"}),
            )
        )
    rows += [
        (name, _format_value(manifest[name]))
        for name in ("statistics", "versions", "python", "platform")
        if name in manifest
    ]
    rows += [(name, _format_value(manifest[name])) for name in ("finished", "seconds") if name in manifest]
    return rows


def build_model_table(manifest: Mapping[str, Any]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The headings of what is known of the models, and for each model its name and the facts under the headings."""
    entries = {str(entry.get("name", "")): entry for entry in manifest.get("models", ())}
    names = shorten_names(entries)
    facts_of = [(format_label(names[name]), describe_model(entry)) for name, entry in entries.items()]
    used = [heading for heading in HEADINGS if any(heading in facts for _, facts in facts_of)]
    return used, [(name, [facts.get(heading, "") for heading in used]) for name, facts in facts_of]


def list_notes(manifest: Mapping[str, Any]) -> list[str]:
    """The notes in the manifest."""
    return [clip(str(note)) for note in manifest.get("notes", ())]


def list_data_files(manifest: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Benchmark and language, number of items, file and SHA-256, for each file."""
    counts: dict[tuple[str, str, str], int] = {}
    for data in manifest.get("data", ()):
        name = next(iter(shorten_names([str(data["benchmark"])]).values()))
        location = f"{name}:{format_label(str(data['language']))}"
        for name, digest in (data.get("files") or {"": ""}).items():
            key = (location, format_label(str(name), 100), str(digest))
            counts[key] = counts.get(key, 0) + int(data.get("items", 0))
    return [(location, f"{count:,}", name, digest) for (location, name, digest), count in counts.items()]


def describe_data_sets(names: Iterable[str], manifests: Iterable[Mapping[str, Any]] = ()) -> list[DataSetFacts]:
    """Facts on the data sets with these names; users' own files have none.

    Of translations, such as `gest-mt`, they are those of the data set whose sentences were translated, which the
    manifests name, with the limits of a test of translations.
    """
    sources = {
        str(data["benchmark"]): str(data["source"])
        for manifest in manifests
        for data in manifest.get("data", ())
        if data.get("source")
    }
    facts = []
    for name in dict.fromkeys(names):
        data_set = DATASETS.get(name) or DATASETS.get(sources.get(name, ""))
        if data_set is not None:
            more = () if name in DATASETS else _LIMITS_OF_TRANSLATIONS
            of_set = (data_set.description, data_set.licence, data_set.warning, (*data_set.limits, *more))
            facts.append(DataSetFacts(name, *of_set, data_set.citation))
    return facts


def list_definitions(records: Sequence[Record]) -> list[tuple[str, str]]:
    """The names and meanings of the measures of these records."""
    used = {record.measure for record in records}
    return [(name, measure.meaning) for name, measure in list_measures().items() if name in used and measure.meaning]


def _format_location(entry: Mapping[str, Any]) -> str:
    part = "" if entry["part"] == "all" else f", {entry['part']}"
    return format_label(f"{entry['benchmark']}{part}, {get_language_name(str(entry['language']))}", 100)


def _format_value(value: Any) -> str:
    """A value of the manifest on one line."""
    if isinstance(value, Mapping):
        return clip(
            "; ".join(f"{key}: {_format_value(entry)}" for key, entry in value.items() if entry is not None), 2_000
        )
    if isinstance(value, list | tuple):
        return clip(", ".join(_format_value(entry) for entry in value), 2_000)
    return clip(value if isinstance(value, str) else json.dumps(value), 2_000)
