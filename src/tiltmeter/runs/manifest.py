"""The manifest of a run: request, models, data, statistics and versions, for reproducibility."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tiltmeter.measures.bootstrap import RESAMPLES, SEED
from tiltmeter.measures.verdict_rule import ALPHA

# Libraries whose version can change results.
_LIBRARIES = ("tiltmeter", "torch", "transformers", "tokenizers", "numpy", "scipy", "pandas")


def build_manifest(
    request: Mapping[str, Any],
    *,
    models: Iterable[Mapping[str, Any]] = (),
    data: Iterable[Mapping[str, Any]] = (),
    refused: Iterable[Mapping[str, Any]] = (),
    left_out: Sequence[Mapping[str, Any]] = (),
    skipped: Sequence[Mapping[str, Any]] = (),
    flagged: Sequence[Mapping[str, Any]] = (),
    notes: Sequence[str] = (),
    asked: Sequence[Mapping[str, Any]] = (),
    margins: Mapping[str, float] | None = None,
    seconds: float,
) -> dict[str, Any]:
    """The manifest of a run.

    `left_out` are rows of released files that give no usable item (`tiltmeter.runs.data_notes`), `refused` the parts
    that a model could not be asked, `skipped` the items that could not be scored, `flagged`
    those that were scored although the model cannot read them (`runs/unreadable_items.py`), `notes` further remarks in
    sentences, `asked` how models were asked, `margins` the equivalence margins that override those of the measures. In
    `data`, `available` is the number of items before sampling.
    """
    return {
        "request": dict(request),
        "models": list(models),
        "data": list(data),
        "asked": list(asked),
        "refused": list(refused),
        "left_out": list(left_out),
        "skipped": list(skipped),
        "flagged": list(flagged),
        "notes": list(notes),
        "statistics": {
            "interval": 0.95,
            "level": ALPHA,
            "correction": "Holm",
            "margins": dict(margins or {}),
            "resamples": RESAMPLES,
            "seed": SEED,
        },
        "versions": {name: installed for name in _LIBRARIES if (installed := _get_version(name))},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
    }


def index_data_sets(manifest: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """The entries of a manifest by data set and language, with the files of all parts and of each part."""
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in manifest.get("data", ()):
        key = (str(entry["benchmark"]), str(entry["language"]))
        data = merged.setdefault(key, {**entry, "files": {}, "parts": {}})
        files = entry.get("files") or {}
        data["files"] |= files
        data["parts"][str(entry["part"])] = files
    return merged


def _get_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
