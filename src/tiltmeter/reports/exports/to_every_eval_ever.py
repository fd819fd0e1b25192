"""Export to the schema of Every Eval Ever, version 0.3, which collects results of many evaluation tools.

The schema requires a direction of each score. A measure whose ideal is in the middle of its scale is therefore exported
as its distance from the ideal; the value itself is in the details. Measures without an ideal are left out.
"""

from datetime import datetime
from typing import Any

import tiltmeter
from tiltmeter.comparing.cells import format_location
from tiltmeter.comparing.gate_check import convert_to_distance_interval
from tiltmeter.errors import UsageError
from tiltmeter.measures import get_measure
from tiltmeter.measures.estimates import LEVEL
from tiltmeter.measures.records import Record
from tiltmeter.printable_text import format_json
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import (
    SOURCE,
    ExportedModel,
    build_model_id,
    build_slug,
    list_data_urls,
    select_model,
)
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import describe_sample

VERSION = "0.3.0"


def export(result: Result, options: ExportOptions) -> str:
    """Return one JSON object with the results of a model."""
    chosen, manifest = select_model(result, options.model), result.manifest
    records = [record for record in chosen.records if record.ideal is not None]
    if not records:
        raise UsageError(f"No measure of {chosen.model} has an ideal, which this format requires; use --to jsonl.")
    finished = datetime.fromisoformat(manifest.finished).timestamp() if manifest.finished else 0.0
    model = build_model_id(chosen.model)
    content = {
        "schema_version": VERSION,
        "evaluation_id": f"tiltmeter/{model}/{finished:.0f}",
        "retrieved_timestamp": f"{finished:.0f}",
        **({"evaluation_timestamp": manifest.finished} if manifest.finished else {}),
        # The run does not contain who made it; users replace these two values.
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_name": f"Tiltmeter {tiltmeter.__version__}",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "tiltmeter",
            "version": manifest.versions.get("tiltmeter", "unknown"),
            "additional_details": {"url": SOURCE},
        },
        "model_info": _build_model_info(chosen, model),
        "evaluation_results": [_build_result(record, manifest) for record in records],
    }
    return format_json(content, indent=2) + "\n"


def _build_model_info(chosen: ExportedModel, model: str) -> dict[str, Any]:
    entry = chosen.entry
    details = {
        # Only local models have a type; only models downloaded from the hub have a revision.
        "deployment_type": "self_deployed" if entry.type else "unknown",
        "model_availability": "open_weights" if entry.type and entry.revision else "unknown",
    }
    known = {
        "kind": entry.kind,
        "architecture": entry.architecture,
        "revision": entry.revision,
        "dtype": entry.dtype,
        "weights_hash": entry.weights,
    }
    return {
        "name": chosen.model,
        "id": model,
        "additional_details": details | {name: value for name, value in known.items() if value},
    }


def _build_result(record: Record, manifest: Manifest) -> dict[str, Any]:
    names = record.benchmark, record.part, record.language, record.measure, record.protocol
    return {
        "evaluation_result_id": build_slug(*names),
        "evaluation_name": format_location(record.benchmark, record.part, record.language),
        "source_data": _build_source(record, manifest),
        "metric_config": _build_metric(record),
        "score_details": _build_score(record, manifest),
    }


def _build_source(record: Record, manifest: Manifest) -> dict[str, Any]:
    entries = [e for e in manifest.data if (e.benchmark, e.language) == (record.benchmark, record.language)]
    urls = list_data_urls(entries[0]) if entries else []
    hashes = {name: digest for entry in entries for name, digest in entry.files.items()}
    source = {"source_type": "url", "url": urls} if urls else {"source_type": "other"}
    return {"dataset_name": record.benchmark, **source, **({"additional_details": hashes} if hashes else {})}


def _build_metric(record: Record) -> dict[str, Any]:
    measure = get_measure(record.measure)
    direction, bounds = measure.higher_is_better, measure.bounds or (None, None)
    lowest, highest = ("-Infinity" if bounds[0] is None else bounds[0], "Infinity" if bounds[1] is None else bounds[1])
    metric: dict[str, Any] = {
        "metric_id": f"tiltmeter.{build_slug(record.measure)}",
        "metric_name": record.measure,
        "evaluation_description": measure.meaning,
        "lower_is_better": direction is False,
    }
    if direction is None:
        ideal = f"{record.ideal:g}"
        linear = (
            f"the base-2 logarithm of {record.measure} / {ideal}" if measure.ratio else f"{record.measure} - {ideal}"
        )
        metric |= {
            "metric_id": f"{metric['metric_id']}_distance",
            "metric_name": f"distance of {record.measure} from {ideal}",
            "evaluation_description": f"the absolute value of {linear}; {record.measure}: {measure.meaning}",
            "lower_is_better": True,
        }
        bounded = measure.bounds is not None and not measure.ratio
        lowest, highest = 0.0, max(map(abs, map(measure.distance, measure.bounds or ()))) if bounded else "Infinity"
    unit = {"metric_unit": measure.unit} if measure.unit else {}
    return metric | unit | {"score_type": "continuous", "min_score": lowest, "max_score": highest}


def _build_score(record: Record, manifest: Manifest) -> dict[str, Any]:
    measure, ends = get_measure(record.measure), record.interval or (record.value, record.value)
    uncertainty: dict[str, Any] = {"num_samples": record.n}
    score, low, high = record.value, *ends
    if measure.higher_is_better is None:
        score = abs(measure.distance(record.value))
        positions = (measure.position(low), measure.position(high))
        low, high = convert_to_distance_interval(positions, measure.position(record.ideal or 0.0))
    elif record.standard_error is not None:
        uncertainty["standard_error"] = {"value": record.standard_error}
    uncertainty["confidence_interval"] = {"lower": low, "upper": high, "confidence_level": LEVEL}
    details = {
        "value": f"{record.value:g}",
        "value_low": f"{ends[0]:g}",
        "value_high": f"{ends[1]:g}",
        "ideal": f"{record.ideal:g}",
        "protocol": record.protocol,
        "answers": record.family,
        "verdict": record.verdict.words if record.verdict else None,
        "sample": describe_sample(manifest.data, record.benchmark, record.part, record.language),
    }
    return {
        "score": score,
        "details": {name: text for name, text in details.items() if text},
        "uncertainty": uncertainty,
    }
