"""Export to a log of Inspect, in its JSON format, which `inspect view` and `inspect_ai.log.read_eval_log` read.

The log is one task. Each benchmark with its part and language is a scorer with the measures as metrics; each item is a
sample with its contributions to the measures as scores.
"""

import math
import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import tiltmeter
from tiltmeter.comparing.cells import format_location
from tiltmeter.measures.records import Record
from tiltmeter.printable_text import escape_unsafe, format_json
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import SOURCE, ExportedModel, build_model_id, select_model
from tiltmeter.reports.exports.item_rows import KEY, REASON, TEXT, VALUE, list_item_rows
from tiltmeter.reports.grouping import group_by
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.result import Result

_TASK = "tiltmeter"
_CONTEXT = f"{TEXT}context"


def export(result: Result, options: ExportOptions) -> str:
    """Return the log of a model as one JSON object."""
    chosen, manifest = select_model(result, options.model), result.manifest
    rows = list(list_item_rows(result, chosen.model))
    scores = group_by(chosen.records, _name_scorer)
    times = _list_times(manifest)
    content = {
        "version": 2,
        "status": "success",
        "eval": _build_spec(chosen, manifest, rows, times[0]),
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(rows),
            "completed_samples": sum(REASON not in row for row in rows),
            "scores": [_build_score(name, records) for name, records in scores.items()],
        },
        "stats": {"started_at": times[0], "completed_at": times[1], "model_usage": {}},
        "samples": [_build_sample(row) for row in rows],
    }
    return format_json(content, indent=1) + "\n"


def _build_spec(chosen: ExportedModel, manifest: Manifest, rows: list[dict[str, Any]], created: str) -> dict[str, Any]:
    number = uuid.uuid5(uuid.NAMESPACE_URL, format_json([chosen.model, manifest.finished, dict(manifest.digests)]))
    return {
        "run_id": str(number),
        "task_id": str(number),
        "eval_id": str(number),
        "created": created,
        "task": _TASK,
        "task_version": manifest.versions.get("tiltmeter", tiltmeter.__version__),
        "task_attribs": {},
        "task_args": {"on": list(manifest.request.get("on", ()))},
        "dataset": {
            "name": ", ".join(dict.fromkeys(entry.benchmark for entry in manifest.data)),
            "samples": len(rows),
            "sample_ids": [_build_sample_id(row) for row in rows],
            "shuffled": False,
        },
        # Inspect's names of models begin with a provider.
        "model": f"tiltmeter/{build_model_id(chosen.model)}",
        "model_args": {},
        "config": {},
        "packages": dict(manifest.versions),
        "metadata": {"source": SOURCE, "kind": chosen.entry.kind, "weights": chosen.entry.weights},
    }


def _list_times(manifest: Manifest) -> tuple[str, str]:
    """Return the times at which the run began and ended; if they are unknown, the first moment of 1970."""
    ended = datetime.fromisoformat(manifest.finished or "1970-01-01T00:00:00+00:00")
    return (ended - timedelta(seconds=manifest.seconds or 0)).isoformat(timespec="seconds"), ended.isoformat()


def _name_scorer(record: Record) -> str:
    return f"{format_location(record.benchmark, record.part, record.language)} ({record.protocol})"


def _build_score(name: str, records: Iterable[Record]) -> dict[str, Any]:
    metrics = {}
    for record in records:
        details = {
            "low": record.low,
            "high": record.high,
            "n": record.n,
            "ideal": record.ideal,
            "stderr": record.standard_error,
            "verdict": record.verdict.words if record.verdict else None,
        }
        known = {key: value for key, value in details.items() if value is not None}
        metrics[record.measure] = {"name": record.measure, "value": record.value, "params": {}, "metadata": known}
    return {"name": name, "scorer": _TASK, "params": {}, "metrics": metrics}


def _build_sample_id(row: dict[str, Any]) -> str:
    protocol = f" ({row['protocol']})" if row["protocol"] else ""
    return escape_unsafe(f"{format_location(row['benchmark'], row['part'], row['language'])}/{row['item']}{protocol}")


def _build_sample(row: dict[str, Any]) -> dict[str, Any]:
    texts = {name.removeprefix(TEXT): text for name, text in row.items() if name.startswith(TEXT) and name != _CONTEXT}
    values = {name.removeprefix(VALUE): value for name, value in row.items() if name.startswith(VALUE)}
    scored = {name: value for name, value in values.items() if math.isfinite(value)}
    kept = {name: value for name, value in row.items() if name not in KEY and not name.startswith((TEXT, VALUE))}
    metadata = {name: _convert_value(value) for name, value in kept.items()}
    return {
        "id": _build_sample_id(row),
        "epoch": 1,
        "input": row.get(_CONTEXT, ""),
        "target": "",
        **({"choices": list(texts.values())} if texts else {}),
        "messages": [],
        "output": {"model": row["model"], "choices": []},
        "scores": {name: {"value": value} for name, value in scored.items()},
        "metadata": metadata | ({"roles": list(texts)} if texts else {}),
        "store": {},
        "events": [],
        "model_usage": {},
    }


def _convert_value(value: Any) -> Any:
    """Return a value that JSON can represent; None for a number that is not finite."""
    if isinstance(value, str | bool) or value is None:
        return value
    number = float(value)
    return None if not math.isfinite(number) else int(number) if number.is_integer() else number
