"""Export to a model card: the model index that the Hugging Face Hub displays, and a list of facts in Markdown."""

from collections.abc import Sequence

from huggingface_hub import EvalResult
from huggingface_hub.repocard_data import eval_results_to_model_index
from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]  # not in __all__

import tiltmeter
from tiltmeter.measures.records import Record
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import SOURCE, build_model_id, build_slug, describe_record, select_model
from tiltmeter.reports.formatting import escape_markdown
from tiltmeter.reports.model_facts import describe_model
from tiltmeter.runs.manifest import DataEntry, ModelEntry
from tiltmeter.runs.result import Result

TASKS = {"masked": "fill-mask", "causal": "text-generation", "seq2seq": "text2text-generation"}


def export(result: Result, options: ExportOptions) -> str:
    """Return text for the model's README.md: YAML front matter between lines of dashes, then a list of facts."""
    chosen = select_model(result, options.model)
    # For imported predictions, the kind of the model (masked, causal or seq2seq) is unknown.
    task = TASKS.get(str(chosen.entry.kind), "other")
    results = [_build_result(record, task, result.manifest.data) for record in chosen.records]
    name = build_model_id(chosen.model)
    index = eval_results_to_model_index(name.rpartition("/")[2] or name, results)
    return f"---\n{yaml_dump({'model-index': index})}---\n{_render_paragraph(chosen.entry)}"


def _render_paragraph(entry: ModelEntry) -> str:
    """Return the known facts about the model and the compute of the run as Markdown; empty if nothing is known."""
    facts = describe_model(entry)
    if not facts:
        return ""
    lines = [f"- {heading}: {escape_markdown(text)}" for heading, text in facts.items()]
    return "\n".join(["\n## Stereotype bias", "", f"Measured by Tiltmeter {tiltmeter.__version__}:", "", *lines, ""])


def _build_result(record: Record, task: str, data: Sequence[DataEntry]) -> EvalResult:
    part = "" if record.part == "all" else f", {record.part}"
    return EvalResult(
        task_type=task,
        task_name="Stereotype bias",
        dataset_type=build_slug(record.benchmark).replace("_", "-"),
        dataset_name=f"{record.benchmark} ({record.language}{part})",
        dataset_config=record.language,
        dataset_split=record.part,
        metric_type=build_slug(record.measure),
        metric_name=describe_record(record, data),
        metric_value=round(record.value, 4),
        source_name=f"Tiltmeter {tiltmeter.__version__}",
        source_url=SOURCE,
    )
