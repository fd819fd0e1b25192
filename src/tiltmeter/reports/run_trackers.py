"""Logging of a finished run to a tracker of experiments: MLflow, trackio or Weights & Biases.

Each model becomes a run of the tracker in the project `tiltmeter`, with the numbers over all items as metrics. As in
exports, measures of bias have no value over all parts if the parts contradict each other.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.reports.exports.exported_model import ExportedModel, build_slug, select_model
from tiltmeter.runs.result import Result

PROJECT = "tiltmeter"
_EXTRAS = {"trackio": "tracking"}


def log_result(result: Result, trackers: Sequence[str]) -> None:
    """Log each model of a run to each of the trackers; raise a UsageError if a tracker fails."""
    models = dict.fromkeys(record.model for record in result.records)
    for model in models if trackers else ():
        chosen = select_model(result, model)
        metrics, params = build_metrics(chosen), _build_params(chosen, result)
        for tracker in trackers:
            try:
                TRACKERS[tracker](model, params, metrics)
            # Trackers raise errors of many classes: of their server, of files and of values that they do not accept.
            except Exception as error:
                reason = f"{type(error).__name__}: {error}".splitlines()[0]
                raise UsageError(
                    f"The run is finished, but {tracker} could not log it ({reason}); check the settings of {tracker}, "
                    "and repeat the command to log it again."
                ) from error


def reject_missing_trackers(trackers: Sequence[str]) -> None:
    """Raise an error if a tracker is not installed."""
    for tracker in trackers:
        if find_spec(tracker) is None:
            extra = _EXTRAS.get(tracker, tracker)
            raise UsageError(
                f"{tracker} is not installed, but --log-to needs it; run `pip install 'tiltmeter[{extra}]'`."
            )


def build_metrics(chosen: ExportedModel) -> dict[str, float]:
    """Return the metrics of a model by name, such as `stereoset.en.overall.ss`, with `.low`, `.high` and `.n`."""
    metrics: dict[str, float] = {}
    for record in chosen.records:
        words = (record.benchmark, record.language, record.part, record.protocol, record.measure)
        name = ".".join(build_slug(word) for word in words)
        metrics[name] = record.value
        metrics |= {f"{name}.low": record.low or 0.0, f"{name}.high": record.high or 0.0, f"{name}.n": float(record.n)}
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def _build_params(chosen: ExportedModel, result: Result) -> dict[str, str]:
    """Return what was measured and how, and the verdicts, as texts."""
    entry, manifest = chosen.entry, result.manifest
    known = {
        "model": chosen.model,
        "kind": entry.kind,
        "architecture": entry.architecture,
        "revision": entry.revision,
        "weights": entry.weights,
        "dtype": entry.dtype,
        "data": ", ".join(dict.fromkeys(f"{data.benchmark}:{data.language}" for data in manifest.data)),
        "limit": manifest.request.get("limit"),
        "tiltmeter": manifest.versions.get("tiltmeter"),
    }
    verdicts = {
        ".".join(build_slug(word) for word in (r.benchmark, r.language, r.part, r.protocol, r.measure, "verdict")): (
            r.verdict.words
        )
        for r in chosen.records
        if r.verdict is not None
    }
    return {name: str(value) for name, value in known.items() if value is not None} | verdicts


def _log_to_mlflow(name: str, params: Mapping[str, str], metrics: Mapping[str, float]) -> None:
    mlflow = import_module("mlflow")
    if not os.environ.keys() & {"MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID", "MLFLOW_RUN_ID"}:
        mlflow.set_experiment(PROJECT)
    with mlflow.start_run(run_name=name):
        mlflow.log_params(dict(params))
        mlflow.log_metrics(dict(metrics))


def _log_to_wandb(module: str, name: str, params: Mapping[str, str], metrics: Mapping[str, float]) -> None:
    """Log to Weights & Biases, or to trackio, which has the same interface."""
    tracker: Any = import_module(module)
    tracker.init(project=PROJECT, name=name, config=dict(params))
    try:
        tracker.log(dict(metrics))
    finally:
        tracker.finish()


# The functions that log a model, by the name of the tracker, which is also the name of its package.
TRACKERS: dict[str, Callable[[str, Mapping[str, str], Mapping[str, float]], None]] = {
    "mlflow": _log_to_mlflow,
    "trackio": partial(_log_to_wandb, "trackio"),
    "wandb": partial(_log_to_wandb, "wandb"),
}
