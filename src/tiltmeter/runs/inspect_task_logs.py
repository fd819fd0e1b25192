"""Scores from the logs of Tiltmeter's own tasks for Inspect.

A sample of such a task is one message of `tiltmeter run chat:…`. The replies are therefore parsed and scored by the
same code as in a run, and the results have the protocol of a run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tiltmeter.benchmarks.forced_choice.prompts import Prompt
from tiltmeter.benchmarks.forced_choice.reply_parser import UNPARSEABLE
from tiltmeter.errors import DataError, UsageError
from tiltmeter.options import ChatOptions
from tiltmeter.questions import Reply
from tiltmeter.runs.chat_run import FORCED_CHOICE, PortionPrompts, build_portion_prompts, build_reply_tables
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.portions import Portion, load_portions
from tiltmeter.runs.run_preparation import limit_items

# The metadata of a task has its data set under this name; `tiltmeter.integrations.inspect_tasks` has the tasks.
TASK_DATA = "tiltmeter"
_OTHER_MESSAGES = "other messages"


@dataclass(frozen=True, slots=True)
class TaskReply:
    """The reply to a message; `sample` numbers the replies to the same message.

    `is_alone` is false if the model was sent other messages, such as a system message, or a changed message.
    """

    message: str
    sample: int
    reply: Reply
    is_alone: bool = True


@dataclass(frozen=True, slots=True)
class TaskLog:
    """The replies in a log of one of Tiltmeter's tasks; `full` and `temperature` are the options of the task."""

    on: str
    replies: Sequence[TaskReply]
    full: bool = False
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class ScoredTaskLog:
    """The scores from the log of a task, and the portions with only the items that have replies to all messages."""

    scores: pd.DataFrame
    portions: list[Portion]
    protocol: str
    notes: list[str]


def build_task_messages(on: str, items: int | None, *, full: bool) -> list[Prompt]:
    """Return the messages about the items of a data set such as `stereoset:en`, item by item.

    `items` is the size of a random sample of each part; None for all items.
    """
    options = ChatOptions(full=full)
    sampling = options.build_sampling(probabilities=False)
    portions = [limit_items(portion, items) for portion in load_portions(on)]
    entries = build_portion_prompts(ModelOutput(), "", portions, FORCED_CHOICE, None, options, sampling)
    return [prompt for entry in entries for prompt in entry.prompts]


def build_task_metadata(on: str, *, full: bool) -> dict[str, Any]:
    """Return the metadata by which a log of a task is recognised."""
    return {TASK_DATA: on, "full": full}


def is_own_task(header: Mapping[str, Any]) -> bool:
    """Return whether a log of Inspect is of one of Tiltmeter's tasks."""
    specification = header.get("eval")
    return isinstance(specification, dict) and TASK_DATA in (specification.get("metadata") or {})


def read_task_log(header: Mapping[str, Any], samples: Iterable[Any], place: str) -> TaskLog:
    """Return the replies in a log; samples that ended with an error have no reply."""
    specification = header["eval"]
    # The settings of the task replace those with which the model was created.
    configs = (specification.get("model_generate_config"), (header.get("plan") or {}).get("config"))
    config = {name: value for values in configs for name, value in (values or {}).items() if value is not None}
    # Inspect adds this message in the request, not to the messages of the sample.
    has_system_message = bool(config.get("system_message"))
    replies = [
        _parse_sample(sample, f"{place}, sample {number}", has_system_message=has_system_message)
        for number, sample in enumerate(samples, 1)
        if not (isinstance(sample, dict) and sample.get("error"))
    ]
    metadata = specification["metadata"]
    return TaskLog(
        str(metadata[TASK_DATA]),
        replies,
        full=metadata.get("full") is True,
        temperature=float(config.get("temperature") or 0),
    )


def _parse_sample(sample: Any, place: str, *, has_system_message: bool) -> TaskReply:
    try:
        written, output = sample["input"], sample["output"]
        message = written if isinstance(written, str) else "\n".join(_join_texts(part["content"]) for part in written)
        choice = output["choices"][0] if output.get("choices") else {"message": {"content": ""}}
        reason = choice.get("stop_reason")
        reply = Reply(
            _join_texts(choice["message"]["content"]),
            refused=reason == "content_filter",
            cut=reason in ("max_tokens", "model_length"),
            model=str(output.get("model") or ""),
        )
        is_alone = not has_system_message and _is_only_message(message, sample.get("messages") or ())
        return TaskReply(message, int(sample.get("epoch") or 1) - 1, reply, is_alone)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise DataError(f"{place} has no message with a reply; give a complete log of the task.") from None


def _is_only_message(message: str, sent: Sequence[Any]) -> bool:
    """Return whether the messages of a sample are only this message and one reply."""
    others = [entry for entry in sent if entry.get("role") != "assistant"]
    if len(sent) - len(others) > 1 or len(others) > 1:
        return False
    return all(entry.get("role") == "user" and _join_texts(entry["content"]) == message for entry in others)


def _join_texts(content: Any) -> str:
    """Return the text of a message without its other parts, such as the text that the model wrote while thinking."""
    if isinstance(content, str):
        return content
    return "".join(str(part["text"]) for part in content if part.get("type") == "text")


def score_task_log(log: TaskLog, model: str, portions: Sequence[Portion]) -> ScoredTaskLog:
    """Score the replies in a log; raise a DataError if no item has replies to all of its messages."""
    samples = 1 + max((reply.sample for reply in log.replies), default=0)
    if samples > 1 and not log.temperature:
        raise UsageError(
            f"The log has {samples} epochs at temperature 0, which are the same question; give a log with one epoch or "
            "with a temperature above 0."
        )
    options = ChatOptions(full=log.full, samples=samples, temperature=log.temperature or None)
    sampling = options.build_sampling(probabilities=False)
    replies = {(reply.message, reply.sample): reply.reply for reply in log.replies}
    output = ModelOutput()
    tables, measured, protocols, incomplete, lost = [], [], [], 0, 0
    for entry in build_portion_prompts(output, model, portions, FORCED_CHOICE, None, options, sampling):
        complete = _keep_answered_items(entry, replies)
        incomplete += _count_started_items(entry, replies) - len(complete.items)
        if complete.items:
            by_digest = {
                prompt.question.digest: replies[prompt.question.prompt, prompt.question.sample]
                for prompt in complete.prompts
            }
            answers, scores = build_reply_tables(model, complete, by_digest, sampling)
            tables.append(scores)
            lost += sum(
                by_digest[prompt.question.digest].cut and outcome == UNPARSEABLE.outcome
                for prompt, outcome in zip(complete.prompts, answers["outcome"], strict=True)
            )
            items = [item for item in entry.portion.items if item.id in complete.items]
            measured.append(replace(entry.portion, items=items))
            protocols.append(complete.protocol)
    if not tables:
        raise DataError(
            f"None of the items of {portions[0].name} has replies to all of its messages in this log of {log.on}; "
            "select the data set and language of the log with --on."
        )
    notes = [*output.notes]
    if incomplete:
        notes.append(f"{incomplete} items without replies to all of their messages were left out.")
    if lost:
        notes.append(f"{lost} replies were cut off before a choice was found; raise --max-tokens of Inspect.")
    protocol = protocols[0]
    if not all(reply.is_alone for reply in log.replies):
        protocol += ("/" if "/" not in protocol else ", ") + _OTHER_MESSAGES
        notes.append("The model was sent other messages, such as a system message, or changed messages.")
    return ScoredTaskLog(pd.concat(tables, ignore_index=True), measured, protocol, notes)


def _keep_answered_items(entry: PortionPrompts, replies: Mapping[tuple[str, int], Reply]) -> PortionPrompts:
    """Return the portion with only the items that have replies to all of their messages."""
    open_items = {p.item for p in entry.prompts if (p.question.prompt, p.question.sample) not in replies}
    return replace(
        entry,
        items={id_: item for id_, item in entry.items.items() if id_ not in open_items},
        prompts=[prompt for prompt in entry.prompts if prompt.item not in open_items],
    )


def _count_started_items(entry: PortionPrompts, replies: Mapping[tuple[str, int], Reply]) -> int:
    return len({p.item for p in entry.prompts if (p.question.prompt, p.question.sample) in replies})
