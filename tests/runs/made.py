"""Made runs: random scores of made items, so that no upstream sentence is needed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tiltmeter.measures import measures_for
from tiltmeter.runs import Result

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
) -> pd.DataFrame:
    """Scores of n items in each part; `lean` is added to those of the stereotypes."""
    rng = np.random.default_rng(seed)
    rows = []
    for part in parts:
        for number in range(first, first + n):
            bias_type = ("gender", "profession", "race")[number % 3]
            for role in ROLES:
                shift = {"stereotype": lean, "anti-stereotype": 0.0, "unrelated": -1.0}[role]
                rows.append(
                    {
                        "model": model,
                        "benchmark": benchmark,
                        "part": part,
                        "language": language,
                        "item": f"{part[:5]}-{number:03d}",
                        "candidate": f"{part[:5]}-{number:03d}-{role}",
                        "role": role,
                        "score": float(rng.normal(shift, 1.0)),
                        "bias_type": bias_type,
                        "target": f"target {number % 5}",
                        "protocol": protocol,
                    }
                )
    return pd.DataFrame(rows)


def pair_scores(
    model: str = "made/one", *, language: str = "en", seed: int = 0, lean: float = 0.0, n: int = 80
) -> pd.DataFrame:
    """Scores of n sentence pairs, as a masked model gives them."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        more, less = rng.normal(lean, 1.0), rng.normal(0.0, 1.0)
        distance = float(rng.normal(-0.001 * lean, 0.01))
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


def gest_scores(model: str = "made/one", *, seed: int = 0, lean: float = 0.0, n: int = 64) -> pd.DataFrame:
    """Log ratios of n sentences, a sixteenth of them for each stereotype; `lean` is added for those about men."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "model": model,
            "benchmark": "gest",
            "part": "template-3",
            "language": "en",
            "item": str(number),
            "candidate": "he/she",
            "role": "log_ratio",
            "score": float(rng.normal(lean * (number % 16 >= 7), 1.0)),
            "stereotype": number % 16 + 1,
            "protocol": "published",
        }
        for number in range(n)
    ]
    return pd.DataFrame(rows)


def run(*tables: pd.DataFrame, family: str = "association", **manifest: Any) -> Result:
    """A run of these scores."""
    scores = pd.concat(tables, ignore_index=True)
    measured = measures_for(family)
    models = [{"name": name, "kind": "masked", "type": "bert"} for name in dict.fromkeys(scores["model"])]
    return Result(
        scores=scores,
        records=measured(scores),
        manifest={
            "request": {"models": [entry["name"] for entry in models], "on": ["made"], "made": str(manifest)},
            "models": models,
            "data": [],
            "refused": [],
            "skipped": [],
            "statistics": {"resamples": 9999, "seed": 1},
            "versions": {"transformers": "5.0"},
            "finished": "2026-01-02T03:04:05+00:00",
            "seconds": 1.5,
            **manifest,
        },
    )


def saved(folder: Path, result: Result) -> str:
    """The path of the run, written to a folder."""
    return str(result.save(folder))
