"""Tiltmeter measures the stereotypical bias of language models, with confidence intervals and verdicts.

import tiltmeter
result = tiltmeter.evaluate("bert-base-cased", on="stereoset:en")
result.measures   # a data frame: LMS, SS, ICAT with their intervals
result.scores     # a data frame: one row for each candidate
result.save("runs/bert")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import DataError, DownloadError, ModelError, TiltmeterError, UsageError

if TYPE_CHECKING:
    from tiltmeter.runs import Result, evaluate, evaluate_translator, score_predictions, score_translations

__version__ = "0.1.0"
__all__ = [
    "DataError",
    "DownloadError",
    "ModelError",
    "Result",
    "TiltmeterError",
    "UsageError",
    "evaluate",
    "evaluate_translator",
    "score_predictions",
    "score_translations",
]


def __getattr__(name: str) -> Any:
    """Import what needs pandas and torch on first use, so that `tiltmeter.models` runs without pandas."""
    if name in ("Result", "evaluate", "evaluate_translator", "score_predictions", "score_translations"):
        return getattr(import_module("tiltmeter.runs"), name)
    raise AttributeError(f"module 'tiltmeter' has no attribute {name!r}")
