"""The Croissant description of an edition: JSON-LD for catalogues and data loaders, with fields on responsible AI.

The format is that of MLCommons (https://docs.mlcommons.org/croissant/). Facts that a project does not record are left
out or called unknown; nothing is guessed.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tiltmeter.datasets.dataset_spec import PUBLISHED_ITEMS
from tiltmeter.datasets.readers.jsonl import format_line
from tiltmeter.forms import Item
from tiltmeter.making.item_makers import WRITTEN
from tiltmeter.making.project import Project
from tiltmeter.making.review.reader_counts import count_readers
from tiltmeter.making.review.review_status import summarise_review

CROISSANT = "croissant.json"

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_FILE = "items-file"
_TYPES = {str: "sc:Text", bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float"}


def make_croissant(project: Project, title: str, items: Sequence[Item], facts: Mapping[str, Any]) -> str:
    """Return the Croissant description of an edition as JSON."""
    settings = project.settings
    description = f"{len(items):,} items of the form {settings.makes} in {facts['language']}, made with Tiltmeter."
    found = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": _make_name(title),
        "alternateName": title,
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "description": " ".join(filter(None, (description, settings.facts.warning))),
        "license": facts["licence"],
        "inLanguage": facts["language"],
        "version": f"{facts['edition']}.0.0",
        "datePublished": facts["published"][:10],
        "keywords": ["bias", "stereotypes", settings.makes],
        "citeAs": settings.facts.citation or f"{title}, edition {facts['edition']}, {facts['published'][:4]}",
        **_describe_responsibility(project, items, facts),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": _FILE,
                "name": PUBLISHED_ITEMS,
                "contentUrl": PUBLISHED_ITEMS,
                "encodingFormat": "application/jsonlines",
                "sha256": facts["sha256"],
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "items",
                "name": "items",
                "key": {"@id": "items/id"},
                "field": [_build_field(*entry) for entry in _list_fields(items)],
            }
        ],
    }
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _make_name(title: str) -> str:
    """Return a title as a name of letters, digits and hyphens, as catalogues require.

    >>> _make_name("stereoset:en in es")
    'stereoset-en-in-es'
    """
    return "-".join("".join(sign if sign.isalnum() else " " for sign in title).split())


def _list_fields(items: Iterable[Item]) -> list[tuple[str, tuple[str, ...], str]]:
    """Return (name, path, type) of each text or number that is in all items; nested values have paths of two keys."""
    common: dict[tuple[str, ...], str] | None = None
    for item in items:
        own = dict(_list_values(json.loads(format_line(item))))
        common = own if common is None else {path: kind for path, kind in common.items() if own.get(path) == kind}
    return [("-".join(path), path, kind) for path, kind in (common or {}).items()]


def _list_values(values: Mapping[str, Any]) -> Iterable[tuple[tuple[str, ...], str]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from (((key, name), _TYPES[type(text)]) for name, text in value.items() if type(text) in _TYPES)
        elif type(value) in _TYPES:
            yield (key,), _TYPES[type(value)]


def _build_field(name: str, path: Sequence[str], kind: str) -> dict[str, Any]:
    source: dict[str, Any] = {"fileObject": {"@id": _FILE}, "extract": {"column": path[0]}}
    if len(path) > 1:
        source["transform"] = {"jsonPath": f"$['{path[1]}']"}
    return {"@type": "cr:Field", "@id": f"items/{name}", "name": name, "dataType": kind, "source": source}


def _describe_responsibility(project: Project, items: Sequence[Item], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of Croissant's vocabulary on responsible AI."""
    settings = project.settings
    is_written = settings.system == WRITTEN
    (readers, *_) = count_readers(project, items)
    summary = summarise_review(project)
    repairs = sum(finding.finding.kind == "changed" for finding in project.store.list_findings())
    described = {
        "dataCollection": _describe_collection(project),
        "dataCollectionType": "Manual Human Curator" if is_written else "Software Collection",
        "dataCollectionMissingData": f"{len(facts['left_out']):,} items are left out; the data card gives the reasons.",
        "dataPreprocessingProtocol": f"{repairs:,} automatic repairs of texts; the data card lists them by rule.",
        "dataAnnotationProtocol": project.read_guidelines() or "Reviewers accept, edit or drop items.",
        "dataAnnotationPlatform": f"Tiltmeter {settings.tiltmeter}",
        "dataAnnotationAnalysis": "; ".join(summary.format_lines()) if summary else "No person reviewed the items.",
        "annotationsPerItem": (
            f"none: {readers.format_share(readers.nobody)}, one: {readers.format_share(readers.one)}, "
            f"several: {readers.format_share(readers.several)}"
        ),
        "annotatorDemographics": "not recorded",
        "machineAnnotationTools": "none" if is_written else settings.system,
        "dataBiases": "The items express stereotypes on purpose, to measure whether a model prefers them.",
        "dataUseCases": "Measuring the stereotypical bias of language models. Not for training.",
        "dataLimitations": (
            "The items show some stereotypes of some cultures; a model without a preference on them can be biased in "
            f"other respects. {readers.format_share(readers.nobody)} of the items were read by nobody."
        ),
        "dataSocialImpact": "Sentences can offend; a model that is trained on them scores better than it behaves.",
        "personalSensitiveInformation": "Items name social groups, such as genders, professions, ethnic groups or "
        "religions. They describe no real person on purpose.",
        "dataReleaseMaintenancePlan": "Editions are numbered; CHANGELOG.md lists the changes of each edition.",
    }
    return {f"rai:{name}": text for name, text in described.items()}


def _describe_collection(project: Project) -> str:
    settings = project.settings
    if settings.system != WRITTEN:
        origin = f"{settings.source} from {settings.source_language}"
        return f"Translation of {origin} by {settings.system}, then repair and review."
    if settings.facts.files:
        return "Candidate items from a table of stereotypes by templates, then edited by people."
    return "Written by people for this set."
