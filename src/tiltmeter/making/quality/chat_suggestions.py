"""Proposals of a chat model for items in the review queue; people decide on them as on all other proposals."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.language_facts import get_language_facts
from tiltmeter.errors import UsageError
from tiltmeter.forms import get_form
from tiltmeter.making.draft import RepairFinding, group_by_item
from tiltmeter.making.glossary import read_glossary, select_terms
from tiltmeter.making.item_translation import explain_texts, name_texts
from tiltmeter.making.open_problems import OpenProblem, assemble_items, examine_texts
from tiltmeter.making.project import Project, reject_written_project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.step_completion import complete_step
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.progress.progress import Progress, ReportProgress, ignore_progress
from tiltmeter.translators.chat_translator import build_glossary_lines, build_reply_instruction, build_rules
from tiltmeter.translators.json_replies import (
    PLACEHOLDER,
    ObjectFailure,
    ObjectQuestion,
    UnusableReplyError,
    ask_for_objects,
    build_text_schema,
    validate_texts,
)
from tiltmeter.translators.translator_protocol import GlossaryTerm, RequestedText

# The name of the findings with proposals of a chat model.
RULE = "chat-suggestion"
_STEP: Final = "suggest"
# Number of items that are asked for together and stored in one transaction.
_BATCH = 32
_MAX_EXPLANATION = 300


@dataclass(slots=True)
class SuggestionSummary:
    """The result of the step `suggest`: numbers of items with and without proposals.

    `failed` maps the items without a usable reply to the reasons.
    """

    items: int = 0
    proposed: int = 0
    unchanged: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Suggestion:
    """The corrected texts of an item by key; empty if the model would change nothing."""

    corrections: dict[str, str]
    explanation: str


@dataclass(frozen=True, slots=True)
class _QueuedItem:
    """An item of the queue with its problems; `keys` maps the fields of its texts to their names in the message."""

    entry: ProjectItem
    problems: tuple[OpenProblem, ...]
    keys: dict[str, str]
    requested: tuple[RequestedText, ...]
    texts: Mapping[str, str]


def suggest_corrections(
    project: Project,
    model: ChatModel,
    *,
    item: str | None = None,
    limit: int | None = None,
    report: ReportProgress = ignore_progress,
) -> SuggestionSummary:
    """Ask a chat model for corrections of the items with open problems on which nobody has decided.

    `item` selects one item; `limit` is the maximum number of items. The corrections are stored as proposals with the
    model's explanation, and replace its earlier proposals. No text of an item is changed.
    """
    reject_written_project(project)
    with lock_project(project.folder):
        began = time.monotonic()
        queued = _list_queued_items(project, item)[:limit]
        if item is not None and not queued:
            raise UsageError(
                f"The item {item} has no open problem, or somebody has decided on it; choose another item."
            )
        summary = SuggestionSummary()
        glossary = read_glossary(project.folder)
        report(Progress(0, len(queued)))
        for start in range(0, len(queued), _BATCH):
            batch = queued[start : start + _BATCH]
            _suggest_for_batch(project, model, batch, glossary, summary)
            report(Progress(start + len(batch), len(queued)))
        summary.seconds = time.monotonic() - began
        if queued:
            facts = {"system": model.name, "items": summary.items, "proposed": summary.proposed}
            complete_step(
                project, _STEP, {**facts, "failed": len(summary.failed), "seconds": round(summary.seconds, 1)}
            )
    return summary


def _list_queued_items(project: Project, item: str | None) -> list[_QueuedItem]:
    store = project.store
    problems = group_by_item(
        problem for problem in assemble_items(project, item, for_review=True).problems if problem.reason != RULE
    )
    decided, texts = store.list_decided_items(), store.list_texts("text", item)
    entries = store.list_items() if item is None else [store.get_item(item)]
    return [
        _QueuedItem(
            entry,
            tuple(problems[entry.id]),
            name_texts(project, entry),
            tuple(explain_texts(project, entry)),
            texts.get(entry.id, {}),
        )
        for entry in entries
        if entry.id in problems and entry.id not in decided
    ]


def _suggest_for_batch(
    project: Project,
    model: ChatModel,
    batch: Sequence[_QueuedItem],
    glossary: Sequence[GlossaryTerm],
    summary: SuggestionSummary,
) -> None:
    questions = [_build_question(project, queued, glossary) for queued in batch]
    with ReplyStore(get_cache_folder() / "replies.sqlite") as replies:
        answers = ask_for_objects(model, questions, replies)
        received = list(answers)
    with project.store.begin_transaction():
        for index, result in received:
            queued = batch[index]
            summary.items += 1
            if isinstance(result, ObjectFailure):
                summary.failed[queued.entry.id] = result.reason
                continue
            findings = _build_findings(model.name, queued, result)
            summary.proposed += bool(findings)
            summary.unchanged += not findings
            # Items that somebody changed or decided on in the meantime are skipped.
            if project.store.get_item(queued.entry.id).version == queued.entry.version and not any(
                project.store.list_decisions(queued.entry.id)
            ):
                project.store.replace_findings(queued.entry.id, _STEP, findings)


def _build_findings(model: str, queued: _QueuedItem, suggestion: _Suggestion) -> list[RepairFinding]:
    reason = f"{model} proposes this text: {suggestion.explanation}"
    return [
        RepairFinding(queued.entry.id, field, RULE, "proposed", reason, queued.texts.get(field, ""), (text,))
        for field, key in queued.keys.items()
        if (text := suggestion.corrections.get(key)) is not None and text != queued.texts.get(field)
    ]


def _build_question(
    project: Project, queued: _QueuedItem, glossary: Sequence[GlossaryTerm]
) -> ObjectQuestion[_Suggestion]:
    settings = project.settings
    source, target = (get_language_facts(code).name for code in (settings.source_language, settings.language))
    sources = {text.key: text.text for text in queued.requested}
    current = {key: queued.texts.get(field) for field, key in queued.keys.items()}
    shown = {key: {source: text, target: current[key]} for key, text in sources.items()}
    lines = [
        f"You help a reviewer of a test item that was translated from {source} into {target}. The item tests whether "
        "language models have stereotypes. Correct the texts that are wrong, and leave the others as they are.",
        "",
        *build_rules(sources.values()),
        "",
        "Texts:",
        json.dumps(shown, ensure_ascii=False, indent=1),
        "",
        "Meaning of the keys:",
        *(f"- {text.key}: {text.meaning}" for text in queued.requested),
        "",
        "Problems that were found:",
        *_describe_problems(project, queued),
        *build_glossary_lines(select_terms(glossary, sources.values())),
        "",
        "Give only the texts that you change; if nothing is wrong, `corrections` is empty. The explanation is one "
        f"sentence in {source}.",
        build_reply_instruction({"corrections": {next(iter(sources)): PLACEHOLDER}, "explanation": PLACEHOLDER}),
    ]

    def read(values: dict[str, Any], _is_last: bool) -> _Suggestion:
        return _read_suggestion(project, queued, sources, values)

    schema = build_text_schema(["corrections", "explanation"])
    schema["properties"]["corrections"] = build_text_schema(sources, all_keys=False)
    return ObjectQuestion("\n".join(lines), schema, 2 * sum(map(len, sources.values())), read)


def _describe_problems(project: Project, queued: _QueuedItem) -> list[str]:
    roles = get_form(project.settings.form).text_names(project.get_source_item(queued.entry))
    lines = []
    for problem in queued.problems:
        key = queued.keys.get(problem.field, roles.get(problem.field, problem.field))
        proposed = f" Proposals: {'; '.join(problem.proposals)}" if problem.proposals else ""
        lines.append(f"- {key or 'the item'}: {problem.message}{proposed}")
    return lines


def _read_suggestion(
    project: Project, queued: _QueuedItem, sources: Mapping[str, str], values: Mapping[str, Any]
) -> _Suggestion:
    """Return the suggestion in a reply; raise an UnusableReplyError if the corrected item would be invalid."""
    if values.keys() != {"corrections", "explanation"} or not isinstance(values["corrections"], dict):
        raise UnusableReplyError("the keys of the JSON object must be 'corrections' (an object) and 'explanation'")
    explanation = values["explanation"]
    if not isinstance(explanation, str) or not re.search(r"\w", explanation) or len(explanation) > _MAX_EXPLANATION:
        raise UnusableReplyError("'explanation' must be one short sentence")
    corrections = validate_texts(values["corrections"], sources, all_keys=False)
    corrected = {field: corrections[key] for field, key in queued.keys.items() if key in corrections}
    known = {finding.code for finding in examine_texts(project, queued.entry, queued.texts)}
    for finding in examine_texts(project, queued.entry, {**queued.texts, **corrected}):
        if finding.severity == "error" and finding.code not in known:
            raise UnusableReplyError(f"the corrected item would be invalid: {finding.message}")
    return _Suggestion(corrections, " ".join(explanation.split()))
