"""The model card of a trained head."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiltmeter import __version__
from tiltmeter.models.checkpoint import Checkpoint
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.reports.language_names import get_language_name

_HEAD = {
    ("mean", "recommended"): "three linear layers with activations on the mean of the last hidden states",
    ("mean", "published"): "three linear layers without activations on the mean of the last hidden states, as in the "
    "released code of Öztürk et al. (2023)",
    (
        "label",
        "recommended",
    ): 'the labels "0" and "1", read at the first decoding step, the one that was trained',
    ("label", "published"): 'the labels "0" and "1", read at the second decoding step, as in the released code of '
    "Öztürk et al. (2023)",
}
_RECIPE = (
    ("batch", "pairs in a batch"),
    ("accumulation", "batches of an update on each device"),
    ("core_rate", "learning rate of the model"),
    ("head_rate", "learning rate of the head"),
    ("schedule", "schedule"),
    ("warm_up", "share of updates with rising rates"),
    ("clip", "largest norm of the gradient"),
    ("weight_decay", "weight decay"),
    ("max_length", "longest input in tokens"),
    ("passes", "passes over the pairs"),
)


def render_head_card(base: Any, head: HeadConfig, record: Mapping[str, Any]) -> str:
    """The card in Markdown: what it is, how good, how it was trained, on what."""
    called = _find_hub_id(base) or Path(base.name).resolve().name
    revision = base.checkpoint.revision
    made = "Converted" if record.get("converted_from") else "Trained"
    lines = [
        *_render_front_matter(head, base),
        "",
        f"# A next-sentence head for {called}",
        "",
        f"Decides whether one sentence follows another, for StereoSet's second part. {made} by Tiltmeter "
        f"{__version__} from {called}{f' ({revision})' if revision else ''}: {_HEAD[head.reading, head.design]}.",
        "",
        f"Measure it with `tiltmeter run FOLDER --on stereoset/intersentence:{','.join(head.languages) or 'en'}`. All "
        "other questions are answered by the unchanged base model.",
    ]
    if accuracy := record.get("accuracy"):
        lines += ["", "## Accuracy on held-out pairs", "", *_render_accuracy_table(accuracy)]
        lines += [
            "",
            "Half of the pairs do follow. No held-out article was trained on. Intervals (95%) are those of a sample of "
            "articles.",
        ]
    if recipe := record.get("recipe"):
        lines += ["", "## Training", "", *_render_recipe_table(recipe, record)]
        lines += ["", "![Loss, accuracy and learning rate](curves.svg)"]
    if data := record.get("data"):
        lines += ["", "## Data", "", *_describe_data(data)]
    if origin := record.get("converted_from"):
        lines += ["", "## Origin", "", f"Converted from `{origin}`; how it was trained is not known from the file."]
    return "\n".join(lines) + "\n"


def _find_hub_id(base: Any) -> str | None:
    """The id of a base model of the hub; None for one that is only in files here, whose path says nothing elsewhere."""
    found: Checkpoint = base.checkpoint
    return found.name.partition("@")[0] if found.revision is not None and found.gguf is None else None


def _render_front_matter(head: HeadConfig, base: Any) -> list[str]:
    # In quotation marks: the code of Norwegian alone means false.
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
    return ["| | |", "| --- | --- |", *(f"| {label} | {value} |" for label, value in rows)]


def _describe_data(data: Mapping[str, Any]) -> list[str]:
    warnings = [f"- {warning}" for warning in data.get("warnings", [])]
    lines = ["The counts, sources and digests are in `training.json`."]
    return [*lines, "", "Warnings:", "", *warnings] if warnings else lines
