"""Runs made up for the tests of reports: scores drawn at random, measured by the real measures."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tiltmeter.benchmarks import benchmark_for
from tiltmeter.measures import measures_for
from tiltmeter.measures.records import Record
from tiltmeter.runs.evaluate import score_table
from tiltmeter.runs.manifest import make_manifest
from tiltmeter.runs.portions import Portion, portions
from tiltmeter.runs.result import Result

RESAMPLES = 50
LOG_ODDS = {"stereotype": 0.3, "anti-stereotype": 0.0, "unrelated": -1.0}


def association(models: Sequence[str], on: str = "starter:en,de", resamples: int = RESAMPLES) -> Result:
    """Models that lean a little, on real items."""
    rng = np.random.default_rng(1)

    def rows(portion: Portion) -> Iterable[tuple[object, str, str, float]]:
        for item in portion.items:
            for candidate in item.candidates:
                yield item, candidate.id, candidate.role, float(np.exp(rng.normal(LOG_ODDS[candidate.role] - 5, 1)))

    return _result(models, on, "published", rows, resamples)


def pairs(models: Sequence[str], on: str = "starter-pairs") -> Result:
    rng = np.random.default_rng(2)

    def rows(portion: Portion) -> Iterable[tuple[object, str, str, float]]:
        for item in portion.items:
            for role in ("more", "less"):
                yield item, f"{item.id}/{role}", role, float(rng.normal(-40, 5))

    return _result(models, on, "likelihood", rows)


def gest(models: Sequence[str]) -> Result:
    rng = np.random.default_rng(3)

    def rows(portion: Portion) -> Iterable[tuple[object, str, str, float]]:
        for item in portion.items:
            yield item, "he/she", "log_ratio", float(rng.normal(0.4 if item.stereotype > 7 else -0.4, 1))

    return _result(models, "starter-gest", "published", rows, parts=("template-3", "template-4"))


def translations(systems: Sequence[str], languages: Sequence[str] = ("sk", "pl")) -> Result:
    rng = np.random.default_rng(4)
    rows = [
        {
            "model": system,
            "benchmark": "gest-mt",
            "part": "all",
            "language": language,
            "item": str(number),
            "candidate": "som",
            "role": "speaker_gender",
            "score": rng.choice([1.0, 1.0, 0.0 if number % 16 < 7 else 1.0, np.nan]),
            "stereotype": number % 16 + 1,
            "translation": f"Veta {number}.",
            "protocol": "rules",
        }
        for system in systems
        for language in languages
        for number in range(160)
    ]
    scores = pd.DataFrame(rows)
    data = [{"benchmark": "gest-mt", "part": "all", "language": language, "items": 160} for language in languages]
    return _made(scores, measures_for("gest_mt")(scores), data)


def file_of(folder: Path, items: Sequence[dict[str, object]]) -> Path:
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items), encoding="utf-8")
    return path


def _result(models, on, protocol, rows, resamples=RESAMPLES, parts=()) -> Result:
    found = list(portions(on))
    tables = []
    for model in models:
        for portion in found:
            for part in portion.in_parts(parts):
                tables.append(score_table(model, part, protocol, rows(part)))
    scores = pd.concat(tables, ignore_index=True)
    measure = measures_for(benchmark_for(found[0].form).measures)
    return _made(scores, measure(scores, resamples=resamples), [portion.describe() for portion in found])


def _made(scores: pd.DataFrame, records: list[Record], data: list[dict[str, object]]) -> Result:
    models = [{"name": name, "weights": "0" * 64} for name in dict.fromkeys(scores["model"])]
    skipped = [{"model": models[0]["name"], "benchmark": "starter", "part": "all", "language": "en", "item": "x"}]
    return Result(
        scores,
        records,
        make_manifest(
            {"models": [model["name"] for model in models], "on": ["made up"]},
            models=models,
            data=data,
            skipped=[{**skip, "reason": "it was made up to be left out"} for skip in skipped],
            seconds=1.0,
        ),
    )
