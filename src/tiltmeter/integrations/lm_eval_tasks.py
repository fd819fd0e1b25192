"""Tasks for the Language Model Evaluation Harness, as a folder for its option `--include_path`.

Each part and language of a data set is a task: a YAML file and a JSONL file with its items. The options of an item are
compared by their log-likelihoods. `tiltmeter score --as lm-eval-samples` makes a run from the samples that the harness
logs.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tiltmeter.benchmarks.forced_choice.wordings import load_prompt_words
from tiltmeter.datasets import parse_spec
from tiltmeter.datasets.dataset_loader import reject_text_export
from tiltmeter.errors import UsageError
from tiltmeter.files import reject_unwritable_folder, write_text
from tiltmeter.forms import get_item_form
from tiltmeter.forms.association import AssociationItem
from tiltmeter.forms.multiple_choice import MultipleChoiceItem
from tiltmeter.reports.exports.exported_model import build_slug
from tiltmeter.runs.portions import UNDIVIDED, Portion, load_portions
from tiltmeter.runs.run_preparation import limit_items

_FUNCTIONS = "tiltmeter_tasks"
_ROLES_OF_PAIRS = {"more": "stereotype", "less": "anti-stereotype"}
_METRICS = {
    "pairs": ("stereotype_preferred",),
    "association": ("stereotype_preferred", "sense_preferred"),
    "multiple-choice": ("accuracy", "answer_stereotype", "answer_unknown"),
}
_HIGHER_IS_BETTER = ("sense_preferred", "accuracy", "answer_unknown")
# Written for tasks of all forms. Values in JSON are valid YAML.
_YAML = """\
# {title}, written by tiltmeter data lm-eval-tasks
task: {task}
tag: {tag}
custom_dataset: !function {functions}.load_items
dataset_kwargs:
  file: {file}
test_split: test
output_type: multiple_choice
doc_to_text: prompt
doc_to_target: 0
doc_to_choice: options
target_delimiter: {delimiter}
process_results: !function {functions}.process_results
metric_list:
{metrics}
metadata:
  version: 1.0
"""


@dataclass(frozen=True, slots=True)
class WrittenTask:
    """A task that was written: its name, its number of items, and how to read its samples."""

    name: str
    items: int
    on: str


def write_lm_eval_tasks(specs: Sequence[str], folder: Path, *, limit: int | None, force: bool) -> list[WrittenTask]:
    """Write a task for each part and language of the data sets; `limit` is the size of a sample of each task."""
    reject_unwritable_folder(folder)
    for spec in specs:
        reject_text_export(parse_spec(spec).name)
    portions = [limit_items(portion, limit) for spec in specs for portion in load_portions(spec)]
    for portion in portions:
        if portion.form not in _METRICS:
            raise UsageError(
                f"{portion.name} has the form {portion.form}, which has no options with log-likelihoods; tasks are "
                f"written for the forms {', '.join(_METRICS)}."
            )
    names = [_name_task(portion) for portion in portions]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(
            f"The task {repeated[0]} would be written twice; name each data set once, and write data sets with equal "
            "names to different folders."
        )
    texts = dict(text for portion in portions for text in _build_files(portion))
    texts[f"{_FUNCTIONS}.py"] = (files("tiltmeter.integrations") / "lm_eval_functions.py").read_text(encoding="utf-8")
    present = sorted(name for name in texts if (folder / name).exists() and name != f"{_FUNCTIONS}.py")
    if present and not force:
        raise UsageError(f"{folder / present[0]} already exists; choose another folder, or replace it with --force.")
    for name, text in texts.items():
        write_text(folder / name, text)
    return [WrittenTask(_name_task(p), len(p.items), f"{_name_part(p)}:{p.language}") for p in portions]


def _name_task(portion: Portion) -> str:
    part = () if portion.part == UNDIVIDED else (portion.part,)
    return build_slug("tiltmeter", Path(portion.name).stem, *part, portion.language)


def _name_part(portion: Portion) -> str:
    return portion.name if portion.part == UNDIVIDED else f"{portion.name}/{portion.part}"


def _build_files(portion: Portion) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the two files of a task."""
    task = _name_task(portion)
    lines = [json.dumps(_build_document(item), ensure_ascii=False) for item in portion.items]
    yield f"{task}.jsonl", "".join(f"{line}\n" for line in lines)
    metrics = "\n".join(
        f"  - metric: {name}\n    aggregation: mean\n    higher_is_better: {json.dumps(name in _HIGHER_IS_BETTER)}"
        for name in _METRICS[portion.form]
    )
    has_prompt = any(_build_prompt(item) for item in portion.items)
    values = {
        "task": task,
        "tag": build_slug("tiltmeter", Path(portion.name).stem),
        "file": f"{task}.jsonl",
        "delimiter": " " if has_prompt else "",
    }
    quoted = {name: json.dumps(value) for name, value in values.items()}
    title = f"{_name_part(portion)}:{portion.language}".replace("\n", " ")
    yield f"{task}.yaml", _YAML.format(title=title, functions=_FUNCTIONS, metrics=metrics, **quoted)


def _build_document(item: Any) -> dict[str, Any]:
    options = get_item_form(item).options(item)
    document = {
        "id": item.id,
        "prompt": _build_prompt(item),
        "options": list(options.values()),
        "roles": [_ROLES_OF_PAIRS.get(role, role) for role in options],
    }
    return document | ({"correct": item.correct} if isinstance(item, MultipleChoiceItem) else {})


def _build_prompt(item: Any) -> str:
    if isinstance(item, MultipleChoiceItem):
        return load_prompt_words(item.language).build_prompt(item.context.strip(), item.question.strip())
    return item.context if isinstance(item, AssociationItem) and item.part == "intersentence" else ""
