"""Runs: from start to finish, from a model, a translation system, or what somebody made of one and published."""

from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.predictions import score_predictions
from tiltmeter.runs.result import Result
from tiltmeter.runs.translations import evaluate_translator, score_translations

__all__ = ["Result", "evaluate", "evaluate_translator", "score_predictions", "score_translations"]
