"""Tasks for Inspect, one for each data set whose items have options: `inspect eval tiltmeter/stereoset`.

Inspect imports this module by its entry point `inspect_ai`. The samples are the messages of `tiltmeter run chat:…`, and
the metrics are the measures of such a run. `tiltmeter score --as inspect` makes a run from the log.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import SampleScore, Score, Target, metric, scorer
from inspect_ai.solver import TaskState, generate

from tiltmeter.benchmarks import get_benchmarks
from tiltmeter.benchmarks.forced_choice.prompts import Prompt
from tiltmeter.datasets.catalogue import DATASETS
from tiltmeter.datasets.dataset_loader import reject_text_export
from tiltmeter.errors import UsageError
from tiltmeter.options.chat_options import SHORT_REPLY
from tiltmeter.runs.inspect_task_logs import build_task_messages, build_task_metadata


def _create_task(name: str) -> Callable[..., Task]:
    def build(
        language: str | None = None, part: str | None = None, items: int | None = None, full: bool = False
    ) -> Task:
        """Ask about the items of a data set in one language; `items` is the size of a random sample of each part.

        With `full`, all wordings and orders of the options are used, without and with a neutral option.
        """
        return _build_task(name, language, part, items, full=full)

    decorated: Callable[..., Task] = task(name=name)(build)
    return decorated


def _build_task(name: str, language: str | None, part: str | None, items: int | None, *, full: bool) -> Task:
    reject_text_export(name)  # the log contains the texts
    spec = f"{name}/{part}" if part else name
    on = f"{spec}:{language or _choose_language(name)}"
    samples = [
        Sample(
            id=_name_sample(prompt),
            input=prompt.question.prompt,
            choices=[option.text for option in prompt.options],
            metadata={
                "item": prompt.item,
                "roles": [option.role for option in prompt.options],
                "labels": list(prompt.question.labels),
                "language": prompt.language,
            },
        )
        for prompt in build_task_messages(on, items, full=full)
    ]
    if not samples:
        raise UsageError(f"{on} has no items that a chat model can be asked about.")
    return Task(
        dataset=MemoryDataset(samples, name=on),
        solver=generate(),
        scorer=choice_of_group(),
        metrics=[bias_measures(on, full)],
        config=GenerateConfig(temperature=0.0, max_tokens=SHORT_REPLY),
        metadata=build_task_metadata(on, full=full),
    )


def _name_sample(prompt: Prompt) -> str:
    arrangement = prompt.arrangement
    order = "".join(str(place + 1) for place in arrangement.order)
    return f"{prompt.item}_w{arrangement.wording + 1}_o{order}{'_neutral' if arrangement.neutral else ''}"


def _choose_language(name: str) -> str:
    languages = DATASETS[name].languages
    return "en" if "en" in languages else languages[0]


@scorer(metrics=[])  # type: ignore[untyped-decorator]
def choice_of_group() -> Callable[..., Any]:
    """Find the option that a reply chooses; the value of the score is the role of the option, or no choice."""
    from tiltmeter.benchmarks.forced_choice.reply_parser import REFUSAL, parse_reply

    async def score(state: TaskState, target: Target) -> Score:
        del target  # no answer is correct
        data, reply = state.metadata, state.output.completion
        options = [choice.value for choice in state.choices]
        is_filtered = state.output.stop_reason == "content_filter"
        parsed = REFUSAL if is_filtered else parse_reply(reply, options, data["labels"], data["language"])
        chosen = None if parsed.place is None else data["roles"][parsed.place]
        return Score(
            value=chosen or parsed.outcome,
            answer=None if parsed.place is None else data["labels"][parsed.place],
            explanation=reply,
            metadata={
                "message": state.input_text,
                "epoch": state.epoch,
                "stop_reason": state.output.stop_reason,
            },
        )

    return score


@metric(scores="unreduced")  # type: ignore[untyped-decorator]
def bias_measures(on: str, full: bool) -> Callable[[list[SampleScore]], Mapping[str, float]]:
    """Compute the measures of all items, with their 95% intervals, as `tiltmeter score --as inspect` does."""

    def compute(scores: list[SampleScore]) -> Mapping[str, float]:
        from tiltmeter.reports.exports.exported_model import select_model
        from tiltmeter.reports.run_trackers import build_metrics
        from tiltmeter.runs.prediction_run import score_predictions

        with TemporaryDirectory() as folder:
            path = Path(folder) / "log.json"
            path.write_text(json.dumps(_build_log(scores, on, full=full)), encoding="utf-8")
            result = score_predictions(path, form="inspect", on=on)
        return build_metrics(select_model(result, None))

    return compute


def _build_log(scores: Sequence[SampleScore], on: str, *, full: bool) -> dict[str, Any]:
    """Return the parts of a log that `tiltmeter score --as inspect` reads."""
    samples = [
        {
            "input": data["message"],
            "epoch": data["epoch"],
            "output": {
                "choices": [{"message": {"content": entry.score.explanation}, "stop_reason": data["stop_reason"]}]
            },
        }
        for entry in scores
        if (data := entry.score.metadata) is not None
    ]
    # The temperature is a part of the protocol's name, but does not change the measures.
    temperature = float(any(sample["epoch"] > 1 for sample in samples))
    specification = {"model": "model", "metadata": build_task_metadata(on, full=full)}
    return {"eval": specification, "plan": {"config": {"temperature": temperature}}, "samples": samples}


def _has_single_messages(form: str) -> bool:
    """Return whether chat models are sent separate messages about each item of a form."""
    benchmark = get_benchmarks().get(form)
    return benchmark is not None and benchmark.choice is not None and benchmark.messages is None


TASKS = {name: _create_task(name) for name, data_set in DATASETS.items() if _has_single_messages(data_set.form)}
