"""Export to the format of the Language Model Evaluation Harness (lm-eval).

Each combination of benchmark, part and language is a task. The names of metrics have the form `name,filter`. Values
keep the scale of Tiltmeter: 57.0, not 0.57. `higher_is_better` is null for measures whose ideal value is in the middle
of the scale.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from scipy.special import ndtri

import tiltmeter
from tiltmeter.measures import get_measure
from tiltmeter.measures.estimates import LEVEL
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.printable_text import format_json
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import build_slug, select_model
from tiltmeter.reports.grouping import group_by
from tiltmeter.runs.manifest import DataEntry
from tiltmeter.runs.result import Result

FILTER = "none"


def export(result: Result, options: ExportOptions) -> str:
    """Return one JSON object with the structure of lm-eval's file results_….json."""
    chosen = select_model(result, options.model)
    tasks = group_by(chosen.records, _build_task_name)
    manifest = result.manifest
    content = {
        "results": {task: _build_metrics(task, records) for task, records in tasks.items()},
        "group_subtasks": {task: [] for task in tasks},
        "configs": {task: _build_config(task, records[0]) for task, records in tasks.items()},
        "versions": dict.fromkeys(tasks, tiltmeter.__version__),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {
            task: {build_slug(record.measure): get_measure(record.measure).higher_is_better for record in records}
            for task, records in tasks.items()
        },
        "n-samples": {task: _count_samples(records, manifest.data) for task, records in tasks.items()},
        "verdicts": {
            task: {build_slug(record.measure): record.verdict.words for record in records if record.verdict}
            for task, records in tasks.items()
        },
        "config": {
            "model": chosen.entry.type or "predictions",
            "model_args": f"pretrained={chosen.model}",
            "model_dtype": chosen.entry.dtype,
            "model_revision": chosen.entry.revision,
            "model_sha": chosen.entry.weights,
            "device": chosen.entry.device,
            "limit": manifest.request.get("limit"),
            "bootstrap_iters": manifest.statistics.resamples,
            "random_seed": manifest.statistics.seed,
        },
        "git_hash": None,
        "date": _parse_timestamp(manifest.finished),
        "transformers_version": manifest.versions.get("transformers"),
        "tiltmeter_version": tiltmeter.__version__,
        "task_hashes": {},
        "model_source": "tiltmeter",
        "model_name": chosen.model,
        "model_name_sanitized": build_slug(chosen.model),
        "total_evaluation_time_seconds": "" if manifest.seconds is None else str(manifest.seconds),
    }
    return format_json(content, indent=2) + "\n"


def _build_task_name(record: Record) -> str:
    part = () if record.part == "all" else (record.part,)
    return build_slug(record.benchmark, *part, record.language)


def _build_metrics(task: str, records: Iterable[Record]) -> dict[str, Any]:
    metrics: dict[str, Any] = {"name": task, "alias": task}
    for record in records:
        name = build_slug(record.measure)
        metrics[f"{name},{FILTER}"] = record.value
        metrics[f"{name}_stderr,{FILTER}"] = compute_standard_error(record)
        metrics["sample_len"] = max(record.n, metrics.get("sample_len", 0))
    return metrics


def compute_standard_error(record: Record) -> float | str:
    """Return the standard error of a record, or "N/A" if the record has no interval.

    If only the interval is known, the standard error is computed from its width, as for a normal distribution.
    """
    if record.standard_error is not None:
        return record.standard_error
    if record.low is None or record.high is None:
        return "N/A"
    return (record.high - record.low) / (2 * float(ndtri((1 + LEVEL) / 2)))


def _build_config(task: str, record: Record) -> dict[str, Any]:
    return {
        "task": task,
        "dataset_path": record.benchmark,
        "dataset_name": record.language,
        "test_split": record.part,
        "output_type": "loglikelihood",
        "metadata": {
            "version": tiltmeter.__version__,
            "protocol": record.protocol,
            "family": record.family,
            "kind": record.kind,
        },
    }


def _count_samples(records: Sequence[Record], data: Sequence[DataEntry]) -> dict[str, int]:
    """Return the number of items in the data set (key `original`) and in the run (key `effective`)."""
    n = max(record.n for record in records)
    first = records[0]
    available = [
        entry.available or 0
        for entry in data
        if (entry.benchmark, entry.language) == (first.benchmark, first.language)
        and (first.part in (entry.part, OVERALL) or entry.part == "all")
    ]
    return {"original": sum(available) or n, "effective": n}


def _parse_timestamp(finished: str) -> float | None:
    return datetime.fromisoformat(finished).timestamp() if finished else None
