"""Folders with synthetic runs for the tests of the board."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from tests.runs.made import association_scores, gest_scores, pair_scores, run
from tiltmeter.runs.result import Result

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
LANGUAGES = ("en", "de", "fr", "es")
PLAN = """
[[models]]
name = "series/a"
series = "steps"
step = 10
attributes = { family = "alpha" }
[[models]]
name = "series/b"
series = "steps"
step = 20
attributes = { family = "alpha" }
[[models]]
name = "series/c"
series = "steps"
step = 40
"""


def save(
    folder: Path,
    scores: pd.DataFrame,
    kind: str | None = "masked",
    *,
    day: int = 1,
    family: str = "association",
    **given: Any,
) -> Path:
    """Save a run with these scores that finished on a day of May 2026."""
    made = run(scores, kind=kind, family=family, **given)
    finished = datetime(2026, 5, day, tzinfo=UTC).isoformat()
    return Result(made.scores, made.records, replace(made.manifest, finished=finished)).save(folder)


def small_board(folder: Path) -> Path:
    """Save runs of six models of two kinds on three benchmarks; three models are a series, one has a hostile name."""
    models = [("series/a", "masked"), ("series/b", "masked"), ("series/c", "masked")]
    models += [("/home/ada/models/gpt-tiny", "causal"), (HOSTILE, "causal"), ("org/other", "causal")]
    for number, (name, kind) in enumerate(models):
        for language in LANGUAGES:
            scores = association_scores(name, language=language, seed=number, lean=0.5 * number - 0.5, n=40)
            save(folder / f"m{number}" / f"stereoset.{language}", scores, kind)
        save(folder / f"m{number}" / "pairs", pair_scores(name, seed=number), kind, family="pairs")
        save(folder / f"m{number}" / "gest", gest_scores(name, seed=number, n=64), kind, family="gest")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    return folder
