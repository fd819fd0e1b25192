"""Runs: from start to finish, from a model or from predictions that somebody published."""

from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.predictions import score_predictions
from tiltmeter.runs.result import Result

__all__ = ["Result", "evaluate", "score_predictions"]
