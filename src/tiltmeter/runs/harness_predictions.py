"""Scores of items from the logs of other evaluation tools; a question belongs to the items with the same texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.benchmarks.forced_choice.choice_scores import ANSWERED, ItemAnswer, compute_item_scores
from tiltmeter.benchmarks.forced_choice.option_orders import Arrangement
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import get_item_form
from tiltmeter.forms.association import AssociationItem
from tiltmeter.forms.multiple_choice import ROLES, MultipleChoiceItem, format_role_name
from tiltmeter.runs.harness_logs import READERS, HarnessLog, LoggedQuestion
from tiltmeter.runs.inspect_task_logs import TaskLog, score_task_log
from tiltmeter.runs.measurement_conditions import AnswerType
from tiltmeter.runs.portions import Portion
from tiltmeter.runs.prediction_files import Predictions
from tiltmeter.runs.score_tables import build_score_table
from tiltmeter.runs.scoring_methods import ScoringMethod

# Names of the protocols: the tools ask in their own way, so their results are not those of Tiltmeter's protocols.
PROTOCOLS = {"lm-eval-samples": "lm-eval", "inspect": "inspect"}
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class HarnessPredictions:
    """The scores from a log, and the portions with only the items that are in the log.

    `notes` say which questions of the log are no items of the data set.
    """

    model: str
    read: Predictions
    portions: list[Portion]
    method: ScoringMethod
    notes: list[str]


def read_harness_log(
    path: Path, form: str, portions: Sequence[Portion], *, model: str | None, kind: str | None, protocol: str | None
) -> HarnessPredictions:
    """Read a log and find the item of each question; raise a DataError if no question is an item of the portions."""
    log = READERS[form](path)
    name = model or log.model
    if log.task is not None:
        return _score_own_task(log, log.task, name, portions, protocol, path)
    supported = {
        "inspect": ("association", "multiple-choice"),
        "lm-eval-samples": ("association", "multiple-choice", "pairs"),
    }[form]
    if unsupported := [portion for portion in portions if portion.form not in supported]:
        raise UsageError(
            f"Logs in the format {form} can be scored for items of the forms {' and '.join(supported)}, but "
            f"{unsupported[0].name} has the form {unsupported[0].form}; choose another data set with --on."
        )
    items = [item for portion in portions for item in portion.items]
    found, unknown = _match_questions(log.questions, items)
    if not found:
        raise DataError(
            f"None of the {len(log.questions)} questions in {path} is an item of {portions[0].name}; select the data "
            "set and language of the log with --on."
        )
    answer_type: AnswerType = "prompted" if log.has_choices else "likelihood"
    method = ScoringMethod(kind or ("chat" if log.has_choices else None), answer_type, protocol or PROTOCOLS[form])
    measured = [replace(portion, items=[i for i in portion.items if id(i) in found]) for portion in portions]
    tables = [
        build_score_table(name, portion, method.protocol, _list_rows(portion.items, found, log))
        for portion in measured
        if portion.items
    ]
    absent = [portion.part for portion in measured if not portion.items]
    return HarnessPredictions(
        name,
        Predictions(pd.concat(tables, ignore_index=True), [], absent),
        [portion for portion in measured if portion.items],
        method,
        _describe_left_out(log.failed, unknown, path, portions[0].name),
    )


def _score_own_task(
    log: HarnessLog, task: TaskLog, name: str, portions: Sequence[Portion], protocol: str | None, path: Path
) -> HarnessPredictions:
    scored = score_task_log(task, name, portions)
    parts = {portion.part for portion in scored.portions}
    return HarnessPredictions(
        name,
        Predictions(scored.scores, [], [portion.part for portion in portions if portion.part not in parts]),
        scored.portions,
        ScoringMethod("chat", "prompted", protocol or scored.protocol),
        [*_describe_left_out(log.failed, (), path, portions[0].name), *scored.notes],
    )


def _describe_left_out(failed: int, unknown: Sequence[LoggedQuestion], path: Path, benchmark: str) -> list[str]:
    notes = [f"{failed} questions of {path.name} ended with an error and were left out."] if failed else []
    if unknown:
        notes.append(
            f"{len(unknown)} questions of {path.name} are no items of {benchmark} and were left out; the first has the "
            f"option {unknown[0].options[0]!r}."
        )
    return notes


def _match_questions(
    questions: Iterable[LoggedQuestion], items: Iterable[Any]
) -> tuple[dict[int, list[LoggedQuestion]], list[LoggedQuestion]]:
    """Return the questions of each item, by the `id()` of the item, and the questions without an item."""
    by_options: dict[frozenset[str], list[Any]] = {}
    for item in items:
        texts = get_item_form(item).options(item)
        by_options.setdefault(frozenset(_normalize(texts[role]) for role in texts if role != _UNKNOWN), []).append(item)
    sizes = {len(options) for options in by_options}
    found: dict[int, list[LoggedQuestion]] = {}
    unknown = []
    for question in questions:
        options, prompt = {_normalize(option) for option in question.options}, _normalize(question.prompt)
        candidates = [
            item
            for subset in _list_subsets(options, sizes)
            for item in by_options.get(subset, ())
            if all(_normalize(text) in prompt for text in _get_prompt_texts(item))
        ]
        for item in candidates:
            found.setdefault(id(item), []).append(question)
        if not candidates:
            unknown.append(question)
    return found, unknown


def _list_subsets(options: set[str], sizes: Iterable[int]) -> Iterator[frozenset[str]]:
    for size in sizes:
        yield from map(frozenset, combinations(sorted(options), size))


def _get_prompt_texts(item: Any) -> tuple[str, ...]:
    """Return the texts that the prompt must contain, because other items have the same options."""
    return (item.context, item.question) if isinstance(item, MultipleChoiceItem) else ()


def _normalize(text: str) -> str:
    return " ".join(text.split()).casefold()


def _find_roles(item: Any, question: LoggedQuestion) -> tuple[str, ...]:
    """Return the role of each option; options with another text, such as further ways to say "unknown", are unknown."""
    roles = {_normalize(text): role for role, text in get_item_form(item).options(item).items()}
    return tuple(roles.get(_normalize(option), _UNKNOWN) for option in question.options)


def _list_rows(
    items: Iterable[Any], found: Mapping[int, list[LoggedQuestion]], log: HarnessLog
) -> Iterator[tuple[Any, str, str, float]]:
    for item in items:
        questions = found[id(item)]
        if log.has_choices:
            answers = [_build_answer(item, question) for question in questions]
            yield from ((item, role, role, score) for role, score in compute_item_scores(answers))
            continue
        # A text that occurs twice has the same log-likelihood both times.
        numbers = dict.fromkeys(get_item_form(item).options(item), float("-inf"))
        for role, number in zip(_find_roles(item, questions[0]), questions[0].likelihoods, strict=True):
            numbers[role] = max(numbers.get(role, number), number)
        if isinstance(item, MultipleChoiceItem):
            best = [role for role in ROLES if numbers[role] == max(numbers.values())]
            for role in ROLES:
                yield item, f"{item.id}/{role}", format_role_name(role), numbers[role]
                yield item, f"{item.id}/{role}", f"{ANSWERED}{role}", (role in best) / len(best)
        else:
            named = item.candidates if isinstance(item, AssociationItem) else ()
            candidates: dict[str, str] = {candidate.role: candidate.id for candidate in named}
            for role, number in numbers.items():
                yield item, candidates.get(role, f"{item.id}/{role}"), role, number


def _build_answer(item: Any, question: LoggedQuestion) -> ItemAnswer:
    roles = _find_roles(item, question)
    order = tuple(list(get_item_form(item).options(item)).index(role) for role in roles)
    shares = tuple(float(place == question.chosen) for place in range(len(roles)))
    return ItemAnswer(Arrangement(0, order, False), roles, shares)
