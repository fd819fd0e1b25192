"""The model card of a trained head."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiltmeter import __version__
from tiltmeter.models.checkpoint import Checkpoint
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.model_facts import describe_compute
from tiltmeter.runs.manifest import ComputeUse
from tiltmeter.runs.typed_json import from_json

_HEAD = {
    ("mean", "recommended"): "three linear layers with activations on the mean of the last hidden states",
    ("mean", "published"): "three linear layers without activations on the mean of the last hidden states, as in the "
    "released code of Öztürk et al. (2023)",
    (
        "label",
        "recommended",
    ): 'the labels "0" and "1", read at the first decoding step, as in training',
    ("label", "published"): 'the labels "0" and "1", read at the second decoding step, as in the released code of '
    "Öztürk et al. (2023)",
}
_RECIPE = (
    ("batch", "pairs per batch"),
    ("accumulation", "batches per update and device"),
    ("core_rate", "learning rate of the model"),
    ("head_rate", "learning rate of the head"),
    ("optimizer", "optimizer"),
    ("schedule", "schedule"),
    ("warm_up", "share of warm-up updates"),
    ("clip", "maximum norm of the gradient"),
    ("weight_decay", "weight decay"),
    ("max_length", "maximum input length in tokens"),
    ("passes", "epochs"),
)


def render_head_card(base: Any, head: HeadConfig, record: Mapping[str, Any]) -> str:
    """Return the model card in Markdown: description, accuracy, training and data."""
    name = _find_hub_id(base) or Path(base.name).resolve().name
    revision = base.checkpoint.revision
    verb = "Converted" if record.get("converted_from") else "Trained"
    lines = [
        *_render_front_matter(head, base),
        "",
        f"# A next-sentence head for {name}",
        "",
        f"This head decides whether one sentence follows another, for the intersentence part of StereoSet. {verb} by "
        f"Tiltmeter {__version__} from {name}{f' ({revision})' if revision else ''}: "
        f"{_HEAD[head.reading, head.design]}.",
        "",
        f"Measure it with `tiltmeter run FOLDER --on stereoset/intersentence:{','.join(head.languages) or 'en'}`. The "
        "unchanged base model answers all other questions.",
    ]
    if accuracy := record.get("accuracy"):
        lines += ["", "## Accuracy on held-out pairs", "", *_render_accuracy_table(accuracy)]
        lines += [
            "",
            "In half of the pairs the second sentence follows the first. Held-out articles were not used in training. "
            "Intervals are clustered by article.",
        ]
    if recipe := record.get("recipe"):
        lines += ["", "## Training", "", *_render_recipe_table(recipe, record)]
        lines += ["", "![Loss, accuracy and learning rate](curves.svg)"]
    if data := record.get("data"):
        lines += ["", "## Data", "", *_describe_data(data)]
    if origin := record.get("converted_from"):
        lines += ["", "## Origin", "", f"Converted from `{origin}`, which contains no information about its training."]
    return "\n".join(lines) + "\n"


def _find_hub_id(base: Any) -> str | None:
    """Return the hub id of a base model; None for a model in local files, whose path is useless on other machines."""
    checkpoint: Checkpoint = base.checkpoint
    is_on_hub = checkpoint.revision is not None and checkpoint.gguf is None
    return checkpoint.name.partition("@")[0] if is_on_hub else None


def _render_front_matter(head: HeadConfig, base: Any) -> list[str]:
    # The codes are quoted, because the code of Norwegian (no) means false in YAML.
    languages = [f"- {json.dumps(language)}" for language in head.languages]
    return [
        "---",
        "library_name: tiltmeter",
        *([f"base_model: {json.dumps(hub_id)}"] if (hub_id := _find_hub_id(base)) else []),
        *(["language:", *languages] if languages else []),
        "tags:",
        "- next-sentence-prediction",
        "---",
    ]


def _render_accuracy_table(accuracy: list[dict[str, Any]]) -> list[str]:
    lines = ["| language | accuracy | 95% interval | pairs | articles |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in accuracy:
        language = get_language_name(row["language"]) if row["language"] else "all"
        interval = f"{row['low']:.1f} to {row['high']:.1f}"
        lines.append(f"| {language} | {row['value']:.1f} | {interval} | {row['pairs']:,} | {row['articles']:,} |")
    return lines


def _render_recipe_table(recipe: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    rows = [("recipe", recipe["name"]), *((label, recipe[key]) for key, label in _RECIPE)]
    if record["options"]["lora"]:
        rows.append(("rank of the adapter (LoRA)", record["options"]["lora_rank"]))
    rows.append(("precision", str(record["precision"]).removeprefix("torch.")))
    rows += [("processes", record["processes"]), ("seed", record["options"]["seed"])]
    rows += [("updates", f"{record['updates']:,}"), ("tokens", f"{record['tokens']:,}")]
    rows.append(("padding", f"{record['padding']:.1%}"))
    if compute := record.get("compute"):
        rows.append(("compute", describe_compute(from_json(ComputeUse, compute, "compute"))))
    return ["| | |", "| --- | --- |", *(f"| {label} | {value} |" for label, value in rows)]


def _describe_data(data: Mapping[str, Any]) -> list[str]:
    warnings = [f"- {warning}" for warning in data.get("warnings", [])]
    lines = ["`training.json` contains the counts, sources and digests of the data."]
    return [*lines, "", "Warnings:", "", *warnings] if warnings else lines
