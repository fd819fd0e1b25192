"""Runs: evaluate a model or a translation system, or score published predictions or translations."""

from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.predictions import score_predictions
from tiltmeter.runs.result import Result
from tiltmeter.runs.translations import evaluate_translator, score_translations

__all__ = ["Result", "evaluate", "evaluate_translator", "score_predictions", "score_translations"]
