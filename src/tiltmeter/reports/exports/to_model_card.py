"""The model-index of a model card, which the hub's model pages show, and a paragraph on how it was measured."""

import re
from collections.abc import Mapping
from typing import Any

from huggingface_hub import EvalResult
from huggingface_hub.repocard_data import eval_results_to_model_index
from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # not in __all__

import tiltmeter
from tiltmeter.measures.records import Record
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import SOURCE, build_slug, describe_record, select_model
from tiltmeter.reports.formatting import escape_markdown
from tiltmeter.reports.model_facts import describe_model
from tiltmeter.runs.result import Result

TASKS = {"masked": "fill-mask", "causal": "text-generation", "seq2seq": "text2text-generation"}


def export(result: Result, options: ExportOptions) -> str:
    """The YAML front matter for the head of the model's README.md, with its lines of dashes, and a paragraph."""
    chosen = select_model(result, options.model)
    # The kind of model is not known for imported predictions.
    task = TASKS.get(str(chosen.entry.get("kind")), "other")
    results = [_build_result(record, task, result.manifest) for record in chosen.records]
    # Of a served model the name is before the address.
    name = re.sub(r"@[a-z]+://.*", "", chosen.model)
    index = eval_results_to_model_index(name.rpartition("/")[2].removeprefix("chat:") or name, results)
    return f"---\n{yaml_dump({'model-index': index})}---\n{_render_paragraph(chosen.entry)}"


def _render_paragraph(entry: Mapping[str, Any]) -> str:
    """The model, its precision, and the hardware, hours and energy of the run, as Markdown; empty if not known."""
    facts = describe_model(entry)
    if not facts:
        return ""
    lines = [f"- {heading}: {escape_markdown(text)}" for heading, text in facts.items()]
    return "\n".join(["\n## Stereotype bias", "", f"Measured by Tiltmeter {tiltmeter.__version__}:", "", *lines, ""])


def _build_result(record: Record, task: str, manifest: Mapping[str, Any]) -> EvalResult:
    part = "" if record.part == "all" else f", {record.part}"
    return EvalResult(
        task_type=task,
        task_name="Stereotype bias",
        dataset_type=build_slug(record.benchmark).replace("_", "-"),
        dataset_name=f"{record.benchmark} ({record.language}{part})",
        dataset_config=record.language,
        dataset_split=record.part,
        metric_type=build_slug(record.measure),
        metric_name=describe_record(record, manifest),
        metric_value=round(record.value, 4),
        source_name=f"Tiltmeter {tiltmeter.__version__}",
        source_url=SOURCE,
    )
