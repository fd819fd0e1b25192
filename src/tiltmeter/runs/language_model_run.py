"""Runs of language models: ask questions and score the answers, one chunk (several blocks of items) at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from tiltmeter.benchmarks.benchmark import SkippedItem, Trial
from tiltmeter.datasets.dataset_loader import allows_text_export
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.models.model_protocol import Model
from tiltmeter.progress.progress import Progress, ReportProgress, ShowProgress
from tiltmeter.questions import Answer, Kind
from tiltmeter.runs.interim_values import InterimValue, OnInterim, compute_interim_values
from tiltmeter.runs.manifest import UnscoredItem, build_model_entry
from tiltmeter.runs.measurement_conditions import MeasurementConditions, get_answer_type
from tiltmeter.runs.model_notes import describe_models
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.portion_blocks import ItemBlock, PortionBlocks, build_portion_blocks, group_into_chunks
from tiltmeter.runs.run_preparation import PreparedRun
from tiltmeter.runs.score_tables import build_score_table
from tiltmeter.runs.token_table import build_token_table
from tiltmeter.runs.unreadable_items import ALL_ZERO, find_zero_scores, list_flagged_items, omits_unreadable

# A portion (data set, part, language), and those of its trials (questions about one item) that are answered together.
_PortionTrials = tuple[PortionBlocks, list[Trial]]


def ask_model(
    model: Model, prepared: PreparedRun, answers: AnswerStore, watch: ShowProgress, so_far: OnInterim
) -> ModelOutput:
    """Ask a language model all questions of a run, and return the model's output; the model is not closed."""
    run = ModelOutput()
    entries = build_portion_blocks(model, prepared, run)
    for kind in dict.fromkeys(entry.kind for entry in entries):
        of_kind = [entry for entry in entries if entry.kind == kind]
        with watch(f"{model.name} ({kind})") as report:
            _ask_in_chunks(model, of_kind, kind, prepared, answers, report, so_far)
    for entry in entries:
        run.scores += entry.tables
        run.tokens += entry.tokens
        names = {"model": model.name, **entry.portion.get_key_columns()}
        run.flagged += list_flagged_items(entry.unreadable.values(), entry.flagged, names)
        run.skipped += [UnscoredItem(**names, item=skip.item, reason=skip.reason) for skip in entry.skipped]
    run.conditions += [_build_conditions(model, entry) for entry in entries]
    run.model = _describe_model(model, entries, answers)
    run.model["tokens"] = sum(block.tokens for entry in entries for block in entry.blocks)
    run.notes += describe_models([build_model_entry(run.model)])
    return run


def _ask_in_chunks(
    model: Model,
    entries: Sequence[PortionBlocks],
    kind: Kind,
    prepared: PreparedRun,
    store: AnswerStore,
    report: ReportProgress,
    so_far: OnInterim,
) -> None:
    """Ask a model about portions (data set, part, language) for one kind of head; add the scores to the portions."""
    chunks = group_into_chunks(entries)
    # This is an estimate: a question that occurs in several blocks is counted several times.
    expected = [sum(block.questions for _, block in chunk) for chunk in chunks]
    done = 0
    for number, chunk in enumerate(chunks):
        last = Progress(0, 0)

        def report_total_progress(
            progress: Progress, later: int = sum(expected[number + 1 :]), done: int = done
        ) -> None:
            nonlocal last
            last = progress
            report(replace(progress, done=done + progress.done, total=done + (progress.total or 0) + later))

        _ask_chunk(model, entries, chunk, kind, prepared, store, report_total_progress, so_far)
        done += last.total or 0


def _ask_chunk(
    model: Model,
    entries: Sequence[PortionBlocks],
    chunk: Sequence[tuple[PortionBlocks, ItemBlock]],
    kind: Kind,
    prepared: PreparedRun,
    store: AnswerStore,
    report: ReportProgress,
    so_far: OnInterim,
) -> None:
    """Ask a model about the items of a chunk (several blocks of items); only the scores stay in memory."""
    together = _remove_long_trials(model, chunk, prepared.settings.protocol)

    def report_with_values(progress: Progress) -> None:
        report(progress)
        so_far(lambda: _compute_interim_values(model, entries, together, kind, store))

    answers = _get_answers(model, together, kind, store, report_with_values)
    for entry, trials in together:
        _store_scores(model, entry, trials, answers, keep_tokens=prepared.settings.keep_tokens)


def _get_answers(
    model: Model, together: Sequence[_PortionTrials], kind: Kind, store: AnswerStore, report: ReportProgress
) -> Mapping[bytes, Answer]:
    questions = [question for _, trials in together for trial in trials for question in trial.questions]
    names = {q.digest: trial.item.id for _, trials in together for trial in trials for q in trial.questions}
    return model.answer(questions, kind=kind, store=store, names=names, report=report)


def _remove_long_trials(
    model: Model, chunk: Sequence[tuple[PortionBlocks, ItemBlock]], protocol: str
) -> list[_PortionTrials]:
    """Return the trials (questions about one item) of a chunk, grouped by portion.

    The trials are removed from the blocks, so that their memory is freed after use.
    """
    together: list[_PortionTrials] = []
    for entry, block in chunk:
        trials = entry.build_trials(block, model, protocol)
        block.trials = None
        if together and together[-1][0] is entry:
            together[-1][1].extend(trials)
        else:
            together.append((entry, list(trials)))
    return together


def _store_scores(
    model: Model, entry: PortionBlocks, trials: Sequence[Trial], answers: Mapping[bytes, Answer], *, keep_tokens: bool
) -> None:
    """Add the scores of trials (questions about one item) to their portion, and record unreadable items."""
    scores = _build_score_table(model.name, entry, trials, answers)
    zero = find_zero_scores(scores)
    entry.unreadable |= {item: found for item, found in zero.items() if item not in entry.unreadable}
    if zero and omits_unreadable(entry.protocol):
        entry.skipped += [SkippedItem(item, found.reason) for item, found in zero.items()]
        trials = [trial for trial in trials if trial.item.id not in zero]
        scores = scores[~scores["item"].isin(zero.keys())]
    items = {trial.item.id for trial in trials}
    entry.readable += len(items - entry.unreadable.keys())
    if len(scores):
        entry.flagged |= items & entry.unreadable.keys()
        entry.tables.append(scores)
    if keep_tokens and allows_text_export(entry.portion.name):
        tokens = build_token_table(model.name, entry.portion, entry.protocol, trials, answers, model.text)
        if not tokens.empty:
            entry.tokens.append(tokens)


def _compute_interim_values(
    model: Model, entries: Sequence[PortionBlocks], together: Sequence[_PortionTrials], kind: Kind, store: AnswerStore
) -> list[InterimValue]:
    """Return interim values, computed from all items so far whose questions are all answered."""
    fingerprint = model.fingerprint(kind)
    tables = [table for entry in entries for table in entry.tables]
    for entry, trials in together:
        answers = store.get(fingerprint, [question.digest for trial in trials for question in trial.questions])
        pending = {
            trial.item.id for trial in trials if not all(question.digest in answers for question in trial.questions)
        }
        if complete := [trial for trial in trials if trial.item.id not in pending]:
            tables.append(_build_score_table(model.name, entry, complete, answers))
    modules = {entry.portion.name: entry.benchmark.measures for entry in entries}
    return compute_interim_values(pd.concat(tables, ignore_index=True), modules) if tables else []


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
        **entry.portion.get_key_columns(),
        protocol=entry.protocol,
        family=get_answer_type(entry.kind),
        kind=model.kinds[0],
        tokenizer=model.text.digest,
        unknown=sum(found.reason != ALL_ZERO for found in entry.unreadable.values()),
        zero=sum(found.reason == ALL_ZERO for found in entry.unreadable.values()),
        items=entry.readable + len(entry.unreadable),
    )


def _describe_model(model: Model, entries: Sequence[PortionBlocks], answers: AnswerStore) -> dict[str, Any]:
    kinds = list(dict.fromkeys(entry.kind for entry in entries))
    described = {"name": model.name, **model.describe()}
    fingerprints = {kind: model.fingerprint(kind) for kind in kinds}
    loading = {kind: answers.get_load_findings(fingerprints[kind]) for kind in kinds}
    if unused := {kind: found.unused_modules for kind, found in loading.items() if found.unused_modules}:
        described["unused_modules"] = unused
    if disabled := {kind: found.disabled for kind, found in loading.items() if found.disabled}:
        described["disabled"] = disabled
    return {**described, "answers": fingerprints}
