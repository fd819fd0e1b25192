"""Workspaces with synthetic runs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tests.runs.made import association_scores, chosen_scores, run
from tiltmeter.runs.result import Result


@cache
def biased(model: str = "made/bert", share: float = 62.0, kind: str = "masked", language: str = "en") -> Result:
    """Return a run with a known SS."""
    return run(chosen_scores(model, share, n=200, targets=50, language=language), kind=kind)


@cache
def small(model: str, seed: int, kind: str = "masked") -> Result:
    """Return a small run, which is fast to compare."""
    return run(association_scores(model, seed=seed, n=40, parts=["intrasentence"]), kind=kind)


def save(folder: Path, result: Result, finished: datetime | None = None) -> Path:
    """Save a run with this finish time."""
    manifest = replace(result.manifest, finished=(finished or datetime(2026, 5, 4, 12, 30, tzinfo=UTC)).isoformat())
    return Result(result.scores, result.records, manifest, result.texts).save(folder)


def write(folder: Path, files: Mapping[str, Any]) -> Path:
    """Write files to a folder; values that are not text are written as JSON."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text, encoding="utf-8")
    return folder
