"""Synthetic runs: random or chosen scores of synthetic items."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tiltmeter.runs.manifest_file import parse_manifest
from tiltmeter.runs.measurement import measure_scores
from tiltmeter.runs.measurement_conditions import MeasurementConditions
from tiltmeter.runs.result import Result
from tiltmeter.runs.typed_json import to_json

CASE = ["model", "benchmark", "part", "language", "protocol"]
ROLES = ("stereotype", "anti-stereotype", "unrelated")


def association_scores(
    model: str = "made/one",
    *,
    language: str = "en",
    seed: int = 0,
    lean: float = 0.0,
    n: int = 60,
    parts: Sequence[str] = ("intrasentence", "intersentence"),
    benchmark: str = "stereoset",
    protocol: str = "published",
    first: int = 0,
    targets: int = 20,
) -> pd.DataFrame:
    """Return random scores of n items in each part; `lean` is added to those of the stereotypes."""
    rng = np.random.default_rng(seed)
    rows = []
    for part in parts:
        for number in range(first, first + n):
            for role in ROLES:
                shift = {"stereotype": lean, "anti-stereotype": 0.0, "unrelated": -1.0}[role]
                score = float(rng.normal(shift, 1.0))
                rows.append(_row(model, benchmark, part, language, number, role, score, targets, protocol))
    return pd.DataFrame(rows)


def chosen_scores(
    model: str = "made/one",
    ss: float | Mapping[str, float] = 50.0,
    *,
    n: int = 400,
    ties: float = 0.0,
    sense: bool = True,
    language: str = "en",
    benchmark: str = "stereoset",
    protocol: str = "published",
    parts: Sequence[str] = ("intrasentence", "intersentence"),
    targets: int = 20,
    seed: int = 0,
) -> pd.DataFrame:
    """Return scores with a known SS.

    In each part, `ties` percent of the n items are ties, and the stereotype is preferred in `ss` percent of the others.
    Without `sense` the unrelated candidate has the highest score in half of the items.
    """
    rows = []
    for part in parts:
        share = ss if isinstance(ss, int | float) else ss[part]
        tied = round(n * ties / 100)
        towards = round((n - tied) * share / 100)
        gaps = np.random.default_rng(seed).permutation([0.0] * tied + [1.0] * towards + [-1.0] * (n - tied - towards))
        nonsense = np.random.default_rng(seed + 1).permutation(np.arange(n) % 2 * (not sense))
        for number, gap in enumerate(gaps.tolist()):
            unrelated = 5.0 if nonsense[number] else -5.0
            for role, score in zip(ROLES, (gap / 2, -gap / 2, unrelated), strict=True):
                rows.append(_row(model, benchmark, part, language, number, role, score, targets, protocol))
    return pd.DataFrame(rows)


def half_sensible_scores(model: str = "made/one", ss: float = 60.0, *, n: int = 400, **given: Any) -> pd.DataFrame:
    """Return scores with a known SS that cannot be interpreted between sentences, where the model guesses."""
    return pd.concat(
        [
            chosen_scores(model, ss, n=n, parts=["intrasentence"], **given),
            chosen_scores(model, ss, n=n, parts=["intersentence"], sense=False, **given),
        ]
    )


def _row(
    model: str,
    benchmark: str,
    part: str,
    language: str,
    number: int,
    role: str,
    score: float,
    targets: int,
    protocol: str,
) -> dict[str, Any]:
    item = f"{part[:5]}-{number:03d}"
    return {
        "model": model,
        "benchmark": benchmark,
        "part": part,
        "language": language,
        "item": item,
        "candidate": f"{item}-{role}",
        "role": role,
        "score": score,
        "bias_type": ("gender", "profession", "race")[number % 3],
        "target": f"target {number % targets}",
        "protocol": protocol,
    }


def pair_scores(
    model: str = "made/one",
    *,
    language: str = "en",
    seed: int = 0,
    lean: float = 0.0,
    distance_lean: float | None = None,
    n: int = 80,
) -> pd.DataFrame:
    """Return random scores of n pairs by a masked model; `distance_lean` is the lean of S_JSD, by default `lean`."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        more, less = rng.normal(lean, 1.0), rng.normal(0.0, 1.0)
        distance = float(rng.normal(-0.001 * (lean if distance_lean is None else distance_lean), 0.01))
        scores = {"more": more, "less": less, "s_jsd": distance, "b_s_jsd": float(distance < 0)}
        for role, score in {**scores, "shared_tokens": 8.0, "hits_more": 4.0, "hits_less": 3.0}.items():
            rows.append(
                {
                    "model": model,
                    "benchmark": "gender-pairs",
                    "part": "all",
                    "language": language,
                    "item": str(number),
                    "candidate": str(number),
                    "role": role,
                    "score": float(score),
                    "bias_type": "gender",
                    "direction": "stereo",
                    "protocol": "published",
                }
            )
    return pd.DataFrame(rows)


def gest_scores(
    model: str = "made/one",
    *,
    seed: int = 0,
    lean: float = 0.0,
    n: int = 64,
    parts: Sequence[str] = ("template-3",),
) -> pd.DataFrame:
    """Return random log ratios of n sentences for 16 stereotypes; `lean` is added for those about men."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "model": model,
            "benchmark": "gest",
            "part": part,
            "language": "en",
            "item": str(number),
            "candidate": "he/she",
            "role": "log_ratio",
            "score": float(rng.normal(lean * (number % 16 >= 7), 1.0)),
            "stereotype": number % 16 + 1,
            "protocol": "published",
        }
        for part in parts
        for number in range(n)
    ]
    return pd.DataFrame(rows)


def winobias_scores(model: str = "made/one", *, seed: int = 0, lean: float = 0.4, n: int = 60) -> pd.DataFrame:
    """Return random log ratios of n sentences about ten occupations; `lean` is added for the five of men."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "model": model,
            "benchmark": "winobias",
            "part": "type1-test",
            "language": "en",
            "item": f"type1-test/{number}",
            "candidate": "he/she",
            "role": "log_ratio",
            "score": float(rng.normal(lean * (number % 2), 1.0)),
            "occupation": f"occupation {number % 10}",
            "occupation_gender": ("female", "male")[number % 2],
            "protocol": "published",
        }
        for number in range(n)
    ]
    return pd.DataFrame(rows)


def run(
    *tables: pd.DataFrame,
    family: str | Mapping[str, str] = "association",
    kind: str | None = "masked",
    answers: str = "likelihood",
    tokenizer: str | None = None,
    margins: dict[str, float] | None = None,
    **manifest: Any,
) -> Result:
    """Return the result of these scores.

    `family` is the module of measures (or one for each benchmark), `kind` the kind of the models, `answers` the answer
    type.
    """
    scores = pd.concat(tables, ignore_index=True)
    families = dict.fromkeys(scores["benchmark"], family) if isinstance(family, str) else family
    asked = askings(scores, kind, answers, tokenizer)
    models = [{"name": name, "kind": kind, "type": "bert"} for name in dict.fromkeys(scores["model"])]
    return Result(
        scores=scores,
        records=measure_scores(scores, families, asked, margins),
        manifest=parse_manifest(
            {
                "request": {"models": [entry["name"] for entry in models], "on": ["made"], "made": str(manifest)},
                "models": models,
                "data": [],
                "asked": to_json(asked),
                "refused": [],
                "skipped": [],
                "statistics": {"resamples": 9999, "seed": 1},
                "versions": {"transformers": "5.0"},
                "finished": "2026-01-02T03:04:05+00:00",
                "seconds": 1.5,
                **manifest,
            }
        ),
    )


def askings(
    scores: pd.DataFrame, kind: str | None = "masked", answers: str = "likelihood", tokenizer: str | None = None
) -> list[MeasurementConditions]:
    """Return the conditions of a table of scores, with the same kind and answer type for all models."""
    cases = scores[CASE].drop_duplicates().to_numpy().tolist()
    return [MeasurementConditions(*map(str, case), answers, kind, tokenizer) for case in cases]


def saved(folder: Path, result: Result) -> str:
    """Write a run to a folder and return its path."""
    return str(result.save(folder))
