"""What a run records about itself, so that somebody else can say what was done, on what, with what."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tiltmeter.measures.intervals import RESAMPLES, SEED
from tiltmeter.measures.rule import ALPHA

# The libraries whose version can change a number.
_LIBRARIES = ("tiltmeter", "torch", "transformers", "tokenizers", "numpy", "scipy", "pandas")


def make_manifest(
    request: Mapping[str, Any],
    *,
    models: Iterable[Mapping[str, Any]] = (),
    data: Iterable[Mapping[str, Any]] = (),
    refused: Iterable[Mapping[str, Any]] = (),
    skipped: Sequence[Mapping[str, Any]] = (),
    notes: Sequence[str] = (),
    asked: Sequence[Mapping[str, Any]] = (),
    margins: Mapping[str, float] | None = None,
    seconds: float,
) -> dict[str, Any]:
    """The manifest of a run.

    `refused` are the parts that a model could not be asked, `skipped` the items that a protocol could not score, and
    `notes` what else a reader of the results should know, in sentences. `asked` says how models were asked, `margins`
    which margins of equivalence were not those of the measures. Of the data, `available` is how many items there were
    before a sample was taken.
    """
    return {
        "request": dict(request),
        "models": list(models),
        "data": list(data),
        "asked": list(asked),
        "refused": list(refused),
        "skipped": list(skipped),
        "notes": list(notes),
        "statistics": {
            "interval": 0.95,
            "level": ALPHA,
            "correction": "Holm",
            "margins": dict(margins or {}),
            "resamples": RESAMPLES,
            "seed": SEED,
        },
        "versions": {name: found for name in _LIBRARIES if (found := _version(name))},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
    }


def data_sets(manifest: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """What a manifest says of each data set in each language, with the files of all its parts, and of each part."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in manifest.get("data", ()):
        key = (str(entry["benchmark"]), str(entry["language"]))
        data = found.setdefault(key, {**entry, "files": {}, "parts": {}})
        files = entry.get("files") or {}
        data["files"] |= files
        data["parts"][str(entry["part"])] = files
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
