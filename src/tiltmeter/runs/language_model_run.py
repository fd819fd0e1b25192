"""A language model asked about the portions of a run: questions, answers and scores, a chunk of items at a time."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pandas as pd

from tiltmeter.benchmarks.benchmark import SkippedItem, Trial
from tiltmeter.datasets.dataset_loader import allows_text_export
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execution import Progress
from tiltmeter.models.model_protocol import Model
from tiltmeter.questions import Answer, Kind
from tiltmeter.runs.conditions import MeasurementConditions, get_answer_type
from tiltmeter.runs.interim_values import InterimValue, OnInterim, compute_interim_values
from tiltmeter.runs.model_notes import describe_models
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.portion_blocks import ItemBlock, PortionBlocks, build_portion_blocks, group_into_chunks
from tiltmeter.runs.preparation import PreparedRun
from tiltmeter.runs.score_tables import build_score_table
from tiltmeter.runs.token_table import build_token_table
from tiltmeter.runs.unreadable_items import ALL_ZERO, find_zero_scores, list_flagged_items, omits_unreadable

# Called with a label when a model starts; returns a context manager that yields the progress callback.
Watch = Callable[[str], AbstractContextManager[Callable[[Progress], None]]]
# The trials of a portion that are answered together.
_PortionTrials = tuple[PortionBlocks, list[Trial]]


def ask_model(
    model: Model, prepared: PreparedRun, answers: AnswerStore, watch: Watch, so_far: OnInterim
) -> ModelOutput:
    """Ask a language model about all portions of a run. It stays open."""
    run = ModelOutput()
    asked = build_portion_blocks(model, prepared, run)
    for kind in dict.fromkeys(entry.kind for entry in asked):
        of_kind = [entry for entry in asked if entry.kind == kind]
        with watch(f"{model.name} ({kind})") as report:
            _ask_in_chunks(model, of_kind, kind, prepared, answers, report, so_far)
    for entry in asked:
        run.scores += entry.tables
        run.tokens += entry.tokens
        names = {"model": model.name, **entry.portion.label()}
        run.flagged += list_flagged_items(entry.doubts.values(), entry.present, names)
        run.skipped += [{**names, "item": skip.item, "reason": skip.reason} for skip in entry.skipped]
    run.askings += [_build_conditions(model, entry) for entry in asked]
    run.model = _describe_model(model, asked, answers)
    run.notes += describe_models([run.model])
    return run


def _ask_in_chunks(
    model: Model,
    asked: Sequence[PortionBlocks],
    kind: Kind,
    prepared: PreparedRun,
    store: AnswerStore,
    report: Callable[[Progress], None],
    so_far: OnInterim,
) -> None:
    """Ask a model about the portions of one kind of head; the scores are entered into the portions."""
    divided = group_into_chunks(asked)
    # Questions of several blocks count once for each, until they are asked together.
    expected = [sum(block.questions for _, block in chunk) for chunk in divided]
    done = 0
    for number, chunk in enumerate(divided):
        last = Progress(0, 0, 0.0)

        def report_all(progress: Progress, later: int = sum(expected[number + 1 :]), done: int = done) -> None:
            nonlocal last
            last = progress
            report(Progress(done + progress.answered, done + progress.questions + later, progress.padding))

        _ask_chunk(model, asked, chunk, kind, prepared, store, report_all, so_far)
        done += last.questions


def _ask_chunk(
    model: Model,
    asked: Sequence[PortionBlocks],
    chunk: Sequence[tuple[PortionBlocks, ItemBlock]],
    kind: Kind,
    prepared: PreparedRun,
    store: AnswerStore,
    report: Callable[[Progress], None],
    so_far: OnInterim,
) -> None:
    """Ask a model about the items of a chunk; nothing of it but the scores is in memory afterwards."""
    together = _take_trials(model, chunk, prepared.settings.protocol)

    def reported(progress: Progress) -> None:
        report(progress)
        so_far(lambda: _compute_interim_values(model, asked, together, kind, store))

    answers = _get_answers(model, together, kind, store, reported)
    for entry, trials in together:
        _store_scores(model, entry, trials, answers, keep_tokens=prepared.settings.keep_tokens)


def _get_answers(
    model: Model, together: Sequence[_PortionTrials], kind: Kind, store: AnswerStore, report: Callable[[Progress], None]
) -> Mapping[bytes, Answer]:
    questions = [question for _, trials in together for trial in trials for question in trial.questions]
    names = {q.digest: trial.item.id for _, trials in together for trial in trials for q in trial.questions}
    return model.answer(questions, kind=kind, store=store, names=names, report=report)


def _take_trials(model: Model, chunk: Sequence[tuple[PortionBlocks, ItemBlock]], protocol: str) -> list[_PortionTrials]:
    """The trials of a chunk by portion; they are no longer kept in its blocks."""
    together: list[_PortionTrials] = []
    for entry, block in chunk:
        trials = entry.trials(block, model, protocol)
        block.trials = None
        if together and together[-1][0] is entry:
            together[-1][1].extend(trials)
        else:
            together.append((entry, list(trials)))
    return together


def _store_scores(
    model: Model, entry: PortionBlocks, trials: Sequence[Trial], answers: Mapping[bytes, Answer], *, keep_tokens: bool
) -> None:
    """Enter the scores of trials into their portion, and the items that are in doubt because of them."""
    scores = _build_score_table(model.name, entry, trials, answers)
    zero = find_zero_scores(scores, entry.benchmark.shown)
    entry.doubts.update({item: doubt for item, doubt in zero.items() if item not in entry.doubts})
    if zero and omits_unreadable(entry.protocol):
        entry.skipped += [SkippedItem(item, doubt.reason) for item, doubt in zero.items()]
        trials = [trial for trial in trials if trial.item.id not in zero]
        scores = scores[~scores["item"].isin(zero.keys())]
    items = {trial.item.id for trial in trials}
    entry.without_doubt += len(items - entry.doubts.keys())
    if len(scores):
        entry.present |= items & entry.doubts.keys()
        entry.tables.append(scores)
    if keep_tokens and allows_text_export(entry.portion.name):
        tokens = build_token_table(model.name, entry.portion, entry.protocol, trials, answers, model.text)
        if not tokens.empty:
            entry.tokens.append(tokens)


def _compute_interim_values(
    model: Model, asked: Sequence[PortionBlocks], together: Sequence[_PortionTrials], kind: Kind, store: AnswerStore
) -> list[InterimValue]:
    """The values of the items whose questions all have stored answers, up to the chunk that is being answered."""
    fingerprint = model.fingerprint(kind)
    tables = [table for entry in asked for table in entry.tables]
    for entry, trials in together:
        answers = store.get(fingerprint, [question.digest for trial in trials for question in trial.questions])
        open_items = {
            trial.item.id for trial in trials if not all(question.digest in answers for question in trial.questions)
        }
        if complete := [trial for trial in trials if trial.item.id not in open_items]:
            tables.append(_build_score_table(model.name, entry, complete, answers))
    families = {entry.portion.name: entry.benchmark.measures for entry in asked}
    return compute_interim_values(pd.concat(tables, ignore_index=True), families) if tables else []


def _build_score_table(
    model: str, entry: PortionBlocks, trials: Sequence[Trial], answers: Mapping[bytes, Answer]
) -> pd.DataFrame:
    scored = (
        (trial.item, *score)
        for trial in trials
        for score in trial.score([answers[question.digest] for question in trial.questions])
    )
    return build_score_table(model, entry.portion, entry.protocol, scored)


def _build_conditions(model: Model, entry: PortionBlocks) -> MeasurementConditions:
    return MeasurementConditions(
        model=model.name,
        **entry.portion.label(),
        protocol=entry.protocol,
        family=get_answer_type(entry.kind),
        kind=model.kinds[0],
        tokenizer=model.text.digest,
        unknown=sum(doubt.reason != ALL_ZERO for doubt in entry.doubts.values()),
        zero=sum(doubt.reason == ALL_ZERO for doubt in entry.doubts.values()),
        items=entry.without_doubt + len(entry.doubts),
    )


def _describe_model(model: Model, asked: Sequence[PortionBlocks], answers: AnswerStore) -> dict[str, Any]:
    kinds = list(dict.fromkeys(entry.kind for entry in asked))
    described = {"name": model.name, **model.describe()}
    fingerprints = {kind: model.fingerprint(kind) for kind in kinds}
    loading = {kind: answers.get_loading(fingerprints[kind]) for kind in kinds}
    if unused := {kind: found.unused_modules for kind, found in loading.items() if found.unused_modules}:
        described["unused_modules"] = unused
    if disabled := {kind: found.disabled for kind, found in loading.items() if found.disabled}:
        described["disabled"] = disabled
    return {**described, "answers": fingerprints}
