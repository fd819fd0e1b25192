"""Results in the forms that other tools read: one file for each."""

from collections.abc import Callable

from tiltmeter.exports import eval_results, jsonl, lm_eval, model_card
from tiltmeter.exports.chosen import Options
from tiltmeter.runs.result import Result

FORMS: dict[str, Callable[[Result, Options], str]] = {
    "model-card": model_card.export,
    "hf-eval-results": eval_results.export,
    "lm-eval": lm_eval.export,
    "jsonl": jsonl.export,
}

__all__ = ["FORMS", "Options"]
