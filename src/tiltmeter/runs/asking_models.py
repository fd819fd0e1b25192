"""A language model asked about the portions of a run: questions, answers and scores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tiltmeter.benchmarks import benchmark_for
from tiltmeter.benchmarks.benchmark import Asked, Benchmark, CannotAsk
from tiltmeter.datasets.by_name import keeps_texts
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execute import Progress
from tiltmeter.errors import ModelError
from tiltmeter.models.protocol import Model
from tiltmeter.questions import Answer, Kind
from tiltmeter.runs.asking import Asking, family_of
from tiltmeter.runs.doubts import (
    ALL_ZERO,
    Doubt,
    all_zero,
    doubts_of,
    flagged,
    leaves_out,
    refuse_unreadable,
    without_doubtful,
)
from tiltmeter.runs.long_items import leave_out_long_items
from tiltmeter.runs.model_notes import model_notes
from tiltmeter.runs.model_run import ModelRun
from tiltmeter.runs.portions import Portion
from tiltmeter.runs.preparing import PreparedRun
from tiltmeter.runs.score_tables import score_table
from tiltmeter.runs.so_far import SoFar, ValueSoFar, values_so_far
from tiltmeter.runs.token_table import token_table

# Called with a label when a model starts; returns a context manager that yields the progress callback.
Watch = Callable[[str], AbstractContextManager[Callable[[Progress], None]]]


@dataclass(frozen=True, slots=True)
class _AskedPortion:
    """A portion of a data set with the questions to a model, and the items that it cannot read."""

    portion: Portion
    asked: Asked
    doubts: dict[str, Doubt]


def ask_model(model: Model, prepared: PreparedRun, answers: AnswerStore, watch: Watch, so_far: SoFar) -> ModelRun:
    """Ask a language model about all portions of a run. It stays open."""
    run = ModelRun()
    asked = _asked_portions(model, prepared, run)
    found = _answers(model, asked, answers, watch, so_far)
    for entry in asked:
        scores = _table(model.name, entry, found)
        zero = all_zero(scores, benchmark_for(entry.portion.form).shown)
        entry.doubts.update({item: doubt for item, doubt in zero.items() if item not in entry.doubts})
        if zero and leaves_out(entry.asked.protocol):
            without_doubtful(entry.asked, zero)
            scores = scores[~scores["item"].isin(zero.keys())]
        run.scores.append(scores)
        names = {"model": model.name, **entry.portion.label()}
        run.flagged += flagged(entry.doubts.values(), scores["item"] if len(scores) else (), names)
    if prepared.settings.keep_tokens:
        tables = [
            token_table(model.name, entry.portion, entry.asked, found, model.text)
            for entry in asked
            if keeps_texts(entry.portion.name)
        ]
        run.tokens += [table for table in tables if not table.empty]
    run.skipped += [
        {"model": model.name, **entry.portion.label(), "item": skip.item, "reason": skip.reason}
        for entry in asked
        for skip in entry.asked.skipped
    ]
    run.askings += [
        Asking(
            model=model.name,
            **entry.portion.label(),
            protocol=entry.asked.protocol,
            family=family_of(entry.asked.kind),
            kind=model.kinds[0],
            tokenizer=model.text.digest,
            unknown=sum(doubt.reason != ALL_ZERO for doubt in entry.doubts.values()),
            zero=sum(doubt.reason == ALL_ZERO for doubt in entry.doubts.values()),
            items=len({trial.item.id for trial in entry.asked.trials} | entry.doubts.keys()),
        )
        for entry in asked
    ]
    run.model = _describe(model, asked, answers)
    run.notes += model_notes([run.model])
    return run


def questions_of(model: Model, prepared: PreparedRun) -> dict[Kind, set[bytes]]:
    """The digests of the questions that a model is asked in a run, by the kind of head."""
    found: dict[Kind, set[bytes]] = {}
    for entry in _asked_portions(model, prepared, ModelRun()):
        digests = {question.digest for trial in entry.asked.trials for question in trial.questions}
        found.setdefault(entry.asked.kind, set()).update(digests)
    return found


def _asked_portions(model: Model, prepared: PreparedRun, run: ModelRun) -> list[_AskedPortion]:
    """The portions with their questions; those that cannot be asked are entered into the run."""
    asked = []
    for portion, benchmark in _in_parts(prepared.chosen, model.kinds[0]):
        try:
            asked.append(_ask(model, portion, benchmark, prepared))
        except CannotAsk as refusal:
            run.refused.append({"model": model.name, **portion.label(), "reason": str(refusal)})
    return asked


def _in_parts(chosen: Sequence[Portion], kind: Kind) -> Iterator[tuple[Portion, Benchmark]]:
    """The portions with their benchmarks, once for each part that the benchmark asks them in."""
    for portion in chosen:
        benchmark = benchmark_for(portion.form)
        for part in portion.in_parts(benchmark.parts(kind)):
            yield part, benchmark


def _ask(model: Model, portion: Portion, benchmark: Benchmark, prepared: PreparedRun) -> _AskedPortion:
    """The questions of a portion."""
    asked = benchmark.ask(portion.part, portion.items, model.text, protocol=prepared.settings.protocol)
    asked.protocol = "/".join([asked.protocol, *prepared.suffixes])
    _refuse_unknown_ids(model, asked, portion)
    refuse_unreadable(portion.items, portion.form, model.text)
    doubts = doubts_of(asked, portion.items, portion.form, model.text)
    without_doubtful(asked, doubts)
    leave_out_long_items(asked, portion, model, every_item=prepared.settings.every_item)
    return _AskedPortion(portion, asked, doubts)


def _refuse_unknown_ids(model: Model, asked: Asked, portion: Portion) -> None:
    """A ModelError if the tokenizer gives numbers that the model has no embeddings for."""
    known = getattr(model, "vocabulary_size", None)
    if known is None:
        return
    for trial in asked.trials:
        for question in trial.questions:
            largest = max((*question.ids, *question.source), default=0)
            if largest >= known:
                raise ModelError(
                    f"The tokenizer of {model.name} has a token {largest} in item {trial.item.id} of {portion.name}, "
                    f"and the model knows only {known:,} tokens; it is not the tokenizer of this model."
                )


def _answers(
    model: Model,
    asked: Sequence[_AskedPortion],
    store: AnswerStore,
    watch: Watch,
    so_far: SoFar,
) -> dict[bytes, Answer]:
    """The answers to all portions; questions are answered together, one kind of head at a time."""
    answers: dict[bytes, Answer] = {}
    for kind in dict.fromkeys(entry.asked.kind for entry in asked):
        trials = [trial for entry in asked if entry.asked.kind == kind for trial in entry.asked.trials]
        questions = [question for trial in trials for question in trial.questions]
        names = {question.digest: trial.item.id for trial in trials for question in trial.questions}
        with watch(f"{model.name} ({kind})") as report:

            def reported(progress: Progress, kind: Kind = kind, report: Callable[[Progress], None] = report) -> None:
                report(progress)
                so_far(lambda: _stored_so_far(model, asked, kind, store))

            answers.update(model.answer(questions, kind=kind, store=store, names=names, report=reported))
    return answers


def _stored_so_far(model: Model, asked: Sequence[_AskedPortion], kind: Kind, store: AnswerStore) -> list[ValueSoFar]:
    """The values of the items whose questions all have stored answers, of one kind of head."""
    fingerprint = model.fingerprint(kind)
    tables, families = [], {}
    for entry in asked:
        if entry.asked.kind != kind:
            continue
        answers = store.get(fingerprint, [q.digest for trial in entry.asked.trials for q in trial.questions])
        open_items = {
            trial.item.id
            for trial in entry.asked.trials
            if not all(question.digest in answers for question in trial.questions)
        }
        trials = [trial for trial in entry.asked.trials if trial.item.id not in open_items]
        if trials:
            complete = replace(entry, asked=replace(entry.asked, trials=trials))
            tables.append(_table(model.name, complete, answers))
            families[entry.portion.name] = benchmark_for(entry.portion.form).measures
    return values_so_far(pd.concat(tables, ignore_index=True), families) if tables else []


def _table(model: str, entry: _AskedPortion, answers: Mapping[bytes, Answer]) -> pd.DataFrame:
    rows = [
        (trial.item, score)
        for trial in entry.asked.trials
        for score in trial.score([answers[question.digest] for question in trial.questions])
    ]
    return score_table(model, entry.portion, entry.asked.protocol, ((i, s.candidate, s.role, s.score) for i, s in rows))


def _describe(model: Model, asked: Sequence[_AskedPortion], answers: AnswerStore) -> dict[str, Any]:
    kinds = list(dict.fromkeys(entry.asked.kind for entry in asked))
    described = {"name": model.name, **model.describe()}
    fingerprints = {kind: model.fingerprint(kind) for kind in kinds}
    if unused := {kind: found for kind in kinds if (found := answers.get_unused(fingerprints[kind]))}:
        described["unused_modules"] = unused
    return {**described, "answers": fingerprints}
