"""Results in the formats of other tools, one module per format."""

from collections.abc import Callable

from tiltmeter.reports.exports import eval_results, lm_eval, model_card, records_jsonl
from tiltmeter.reports.exports.chosen import Options
from tiltmeter.runs.result import Result

FORMATS: dict[str, Callable[[Result, Options], str]] = {
    "model-card": model_card.export,
    "hf-eval-results": eval_results.export,
    "lm-eval": lm_eval.export,
    "jsonl": records_jsonl.export,
}

__all__ = ["FORMATS", "Options"]
