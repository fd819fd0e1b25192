"""Export to a CycloneDX 1.6 document with a model card, for inventories of software and models (ML-BOM).

Each number over all items is a performance metric with its interval. Each verdict, over all items or for one group such
as a bias type, is a fairness assessment.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import tiltmeter
from tiltmeter.comparing.cells import format_location
from tiltmeter.datasets.catalogue import DATASETS
from tiltmeter.measures.pooled_rows import find_unreliable_verdict
from tiltmeter.measures.records import Record
from tiltmeter.printable_text import format_json
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import (
    SOURCE,
    ExportedModel,
    build_model_id,
    describe_record,
    list_data_urls,
    select_model,
)
from tiltmeter.runs.manifest import DataEntry
from tiltmeter.runs.result import Result

_TASKS = {"masked": "fill-mask", "causal": "text-generation", "seq2seq": "text2text-generation"}
_LIMIT = (
    "A benchmark measures the stereotypes in its items, in its language and with its protocol; a result without "
    "significant bias does not show that the model has no bias elsewhere."
)


def export(result: Result, options: ExportOptions) -> str:
    """Return one JSON document about a model."""
    chosen, manifest = select_model(result, options.model), result.manifest
    tool = {
        "type": "application",
        "name": "tiltmeter",
        "version": manifest.versions.get("tiltmeter", tiltmeter.__version__),
        "externalReferences": [{"type": "vcs", "url": SOURCE}],
    }
    # The same run always gets the same number, so that an inventory recognises a second export.
    number = uuid.uuid5(uuid.NAMESPACE_URL, format_json([chosen.model, manifest.finished, dict(manifest.digests)]))
    content = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {
            **({"timestamp": manifest.finished} if manifest.finished else {}),
            "tools": {"components": [tool]},
            "component": _build_model(chosen, result),
        },
        "components": [_build_data_set(entries) for entries in _group_data(manifest.data)],
    }
    return format_json(content, indent=2) + "\n"


def _build_model(chosen: ExportedModel, result: Result) -> dict[str, Any]:
    entry = chosen.entry
    architecture = {"architectureFamily": entry.type, "modelArchitecture": entry.architecture}
    parameters: dict[str, Any] = {name: value for name, value in architecture.items() if value}
    if entry.kind in _TASKS:
        parameters["task"] = _TASKS[entry.kind]
    card: dict[str, Any] = {
        "modelParameters": parameters,
        "quantitativeAnalysis": {"performanceMetrics": [_build_metric(record) for record in chosen.records]},
        "considerations": {
            "technicalLimitations": [_LIMIT],
            "fairnessAssessments": list(_list_assessments(chosen, result)),
        },
    }
    details = {"dtype": entry.dtype, "revision": entry.revision, "weights": entry.weights}
    properties = [{"name": f"tiltmeter:{name}", "value": value} for name, value in details.items() if value]
    component = {"type": "machine-learning-model", "bom-ref": "model", "name": build_model_id(chosen.model)}
    version = {"version": entry.revision} if entry.revision else {}
    return component | version | {"modelCard": card} | ({"properties": properties} if properties else {})


def _build_metric(record: Record) -> dict[str, Any]:
    return {
        "type": record.measure,
        "value": f"{record.value:.6g}",
        "slice": f"{format_location(record.benchmark, record.part, record.language)}, protocol {record.protocol}",
        "confidenceInterval": {"lowerBound": f"{record.low:.6g}", "upperBound": f"{record.high:.6g}"},
    }


def _list_assessments(chosen: ExportedModel, result: Result) -> Iterator[dict[str, str]]:
    for record in chosen.records:
        if record.verdict is not None:
            location = format_location(record.benchmark, record.part, record.language)
            yield _build_assessment(f"all groups in {location}", record, result)
    for record in result.records:
        if record.model == chosen.model and record.view != "all" and record.verdict is not None:
            location = format_location(record.benchmark, record.part, record.language)
            group = f"{record.view.replace('_', ' ')} {record.label or record.group} in {location}"
            yield _build_assessment(group, record, result)


def _build_assessment(group: str, record: Record, result: Result) -> dict[str, str]:
    verdict = find_unreliable_verdict(record, result.records) or record.verdict
    described = describe_record(replace(record, verdict=None), result.manifest.data)
    return {"groupAtRisk": group, "harms": f"{verdict.words if verdict else ''}: {record.value:.4g} is {described}"}


def _group_data(data: Sequence[DataEntry]) -> list[list[DataEntry]]:
    groups: dict[str, list[DataEntry]] = {}
    for entry in data:
        groups.setdefault(entry.benchmark, []).append(entry)
    return list(groups.values())


def _build_data_set(entries: Sequence[DataEntry]) -> dict[str, Any]:
    name = entries[0].benchmark
    files = {file: digest for entry in entries for file, digest in entry.files.items()}
    component: dict[str, Any] = {
        "type": "data",
        "bom-ref": f"data:{name}",
        "name": name,
        "data": [
            {"type": "dataset", "name": file, "contents": {"properties": [{"name": "sha256", "value": digest}]}}
            for file, digest in files.items()
        ],
        "externalReferences": [{"type": "distribution", "url": url} for url in list_data_urls(entries[0])],
    }
    data_set = DATASETS.get(name) or DATASETS.get(entries[0].source or "")
    if data_set is not None:
        component |= {"description": data_set.description, "licenses": [{"license": {"name": data_set.licence}}]}
    return component
