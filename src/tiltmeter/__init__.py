"""Measure the stereotypical bias of language models, with confidence intervals and verdicts.

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
    from tiltmeter import datasets
    from tiltmeter.api import (
        assess_change,
        check,
        compare,
        compare_groups,
        compare_languages,
        compare_sizes,
        compare_with_references,
        load_run,
        plot,
        report,
        statement,
        strongest_items,
        summary,
    )
    from tiltmeter.benchmarks.benchmark import Benchmark
    from tiltmeter.comparing.gate_rules import Rule
    from tiltmeter.comparing.gate_verdict import RuleVerdict
    from tiltmeter.comparing.group_difference import GroupComparison
    from tiltmeter.comparing.language_comparison import LanguageComparison
    from tiltmeter.comparing.model_change import ModelChange
    from tiltmeter.comparing.paired_difference import Comparison, Difference
    from tiltmeter.comparing.reference_position import ReferenceComparison
    from tiltmeter.comparing.size_slopes import SizeComparison
    from tiltmeter.datasets.dataset_definition import Dataset
    from tiltmeter.forms.form import Form, Item
    from tiltmeter.integrations.bias_callback import BiasCallback
    from tiltmeter.measures.measure import Measure
    from tiltmeter.measures.records import Record
    from tiltmeter.measures.verdict import Verdict
    from tiltmeter.models.model_protocol import Model
    from tiltmeter.options.chat_options import ChatOptions
    from tiltmeter.runs.evaluate import evaluate
    from tiltmeter.runs.prediction_run import score_predictions
    from tiltmeter.runs.result import Result
    from tiltmeter.runs.run_forecast import plan_run
    from tiltmeter.runs.translation_run import evaluate_translator, score_translations

__version__ = "1.0.0rc1"
__all__ = [
    "Benchmark",
    "BiasCallback",
    "ChatOptions",
    "Comparison",
    "DataError",
    "Dataset",
    "Difference",
    "DownloadError",
    "Form",
    "GroupComparison",
    "Item",
    "LanguageComparison",
    "Measure",
    "Model",
    "ModelChange",
    "ModelError",
    "Record",
    "ReferenceComparison",
    "Result",
    "Rule",
    "RuleVerdict",
    "SizeComparison",
    "TiltmeterError",
    "UsageError",
    "Verdict",
    "assess_change",
    "check",
    "compare",
    "compare_groups",
    "compare_languages",
    "compare_sizes",
    "compare_with_references",
    "datasets",
    "evaluate",
    "evaluate_translator",
    "load_run",
    "plan_run",
    "plot",
    "report",
    "score_predictions",
    "score_translations",
    "statement",
    "strongest_items",
    "summary",
]

# Maps each public name to its module. `__getattr__` imports a name on first use, because pandas and torch take seconds
# to import, and `tiltmeter.models` has to work without pandas. The imports under TYPE_CHECKING are for type checkers; a
# test checks that they list the same names as this mapping.
_LAZY = {
    "Benchmark": "tiltmeter.benchmarks.benchmark",
    "BiasCallback": "tiltmeter.integrations.bias_callback",
    "ChatOptions": "tiltmeter.options.chat_options",
    "Comparison": "tiltmeter.comparing.paired_difference",
    "Dataset": "tiltmeter.datasets.dataset_definition",
    "Difference": "tiltmeter.comparing.paired_difference",
    "Form": "tiltmeter.forms.form",
    "GroupComparison": "tiltmeter.comparing.group_difference",
    "Item": "tiltmeter.forms.form",
    "LanguageComparison": "tiltmeter.comparing.language_comparison",
    "Measure": "tiltmeter.measures.measure",
    "Model": "tiltmeter.models.model_protocol",
    "ModelChange": "tiltmeter.comparing.model_change",
    "Record": "tiltmeter.measures.records",
    "ReferenceComparison": "tiltmeter.comparing.reference_position",
    "Result": "tiltmeter.runs.result",
    "Rule": "tiltmeter.comparing.gate_rules",
    "RuleVerdict": "tiltmeter.comparing.gate_verdict",
    "Verdict": "tiltmeter.measures.verdict",
    "SizeComparison": "tiltmeter.comparing.size_slopes",
    "assess_change": "tiltmeter.api",
    "check": "tiltmeter.api",
    "compare": "tiltmeter.api",
    "compare_groups": "tiltmeter.api",
    "compare_languages": "tiltmeter.api",
    "compare_sizes": "tiltmeter.api",
    "compare_with_references": "tiltmeter.api",
    "evaluate": "tiltmeter.runs.evaluate",
    "evaluate_translator": "tiltmeter.runs.translation_run",
    "load_run": "tiltmeter.api",
    "plan_run": "tiltmeter.runs.run_forecast",
    "plot": "tiltmeter.api",
    "report": "tiltmeter.api",
    "score_predictions": "tiltmeter.runs.prediction_run",
    "score_translations": "tiltmeter.runs.translation_run",
    "statement": "tiltmeter.api",
    "strongest_items": "tiltmeter.api",
    "summary": "tiltmeter.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name == "datasets":
        return import_module("tiltmeter.datasets")
    if name not in _LAZY:
        raise AttributeError(f"module 'tiltmeter' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return all public names, for `dir()` and tab completion."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
