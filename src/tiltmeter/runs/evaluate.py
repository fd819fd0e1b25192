"""Evaluate models on benchmarks: from names to scores and measures."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.benchmarks import benchmark_for
from tiltmeter.benchmarks.benchmark import Asked, Benchmark, CannotAsk
from tiltmeter.datasets.by_name import keeps_texts
from tiltmeter.datasets.cache import cache_dir
from tiltmeter.datasets.hashing import hashed_once
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execute import Progress
from tiltmeter.engine.speedups import running
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.opening import Given, Opened, left_out, listed, name_of, opened
from tiltmeter.models.option_scope import refuse_idle_options
from tiltmeter.models.protocol import CHAT_TEMPLATE, ChatModel, Model, ModelOptions
from tiltmeter.questions import Answer, Kind
from tiltmeter.reading import home_path
from tiltmeter.runs.answer_table import without_replies
from tiltmeter.runs.asking import Asking, family_of, to_dicts
from tiltmeter.runs.budget import ChatOptions
from tiltmeter.runs.chat_run import ask_chats
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
from tiltmeter.runs.items import item_table, text_notes
from tiltmeter.runs.long_items import leave_out_long_items
from tiltmeter.runs.manifest import make_manifest
from tiltmeter.runs.measuring import measure_scores, measuring_notes, read_margins
from tiltmeter.runs.model_notes import model_notes
from tiltmeter.runs.model_run import ModelRun
from tiltmeter.runs.notebook_progress import notebook_bar
from tiltmeter.runs.overlaps import refuse_overlaps, refuse_same_models, refuse_same_names
from tiltmeter.runs.portions import Portion, measures_of, portions
from tiltmeter.runs.result import Result, refuse_other_run
from tiltmeter.runs.score_tables import score_table
from tiltmeter.runs.so_far import SoFar, ValueSoFar, values_so_far
from tiltmeter.runs.token_table import token_table

# Called with a label when a model starts; returns a context manager that yields the progress callback.
Watch = Callable[[str], AbstractContextManager[Callable[[Progress], None]]]


_MIXED = (
    "What chat models choose and what language models find likely are different quantities; measure them in two runs."
)
_NO_TOKENS = "No tokens were kept: --keep-tokens is for sentence pairs whose texts a run may keep."


@dataclass(frozen=True, slots=True)
class _AskedPortion:
    """A portion of a data set with the questions to a model, and the items that it cannot read."""

    portion: Portion
    asked: Asked
    doubts: dict[str, Doubt]


@hashed_once()
def evaluate(
    models: Given | Sequence[Given],
    on: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    protocol: str = "published",
    perturb: str | None = None,
    limit: int | None = None,
    kind: Kind | None = None,
    device: str = "auto",
    devices: Sequence[str] = (),
    dtype: str = "auto",
    batch_tokens: int | None = None,
    trust_remote_code: bool = False,
    plain: bool = False,
    tokenizer: str | None = None,
    quantize: str | None = None,
    split: bool = False,
    max_memory: Mapping[str, str] | None = None,
    chat_template: bool = False,
    concurrency: int = 16,
    per_minute: int | None = None,
    timeout: float = 300.0,
    chat: ChatOptions | None = None,
    margins: Mapping[str, float] | None = None,
    keep_tokens: bool = False,
    every_item: bool = False,
    out: Path | str | None = None,
    force: bool = False,
    watch: Watch = notebook_bar,
    so_far: SoFar = lambda _values: None,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> Result:
    """Measure the bias of models towards stereotypes.

    `models` are folders, .gguf files, hub ids (`id@revision`), adapters, `BASE+ADAPTER` or `embedded`; a loaded
    transformers model with its tokenizer, as `(model, tokenizer)`; or any `tiltmeter.models.protocol.Model`. `on` names
    benchmarks: `stereoset:en,de`, `stereoset/intrasentence:de`, `starter`, or a JSONL file. `limit` samples that many
    items of each part and language, the same ones in every language. `perturb` applies a perturbation to every item
    (pairs: `drop-final-character`). `margins` overrides equivalence margins, such as `{"SS": 3}`. `keep_tokens`
    keeps the log-probability of each token of sentence pairs, for the report. Items that are too long for a model are
    left out and listed if they are at most 1% of a part in a language; `every_item` stops the run instead, as more of
    them do. `out` is a folder to write the run to.

    `kind`, `device`, `devices`, `dtype`, `batch_tokens` and `trust_remote_code` apply to models that are opened by name
    and run on this machine; `devices` names several to use in parallel, such as `["cuda:0", "cuda:1"]`. `plain` turns
    all speed-ups off and recomputes all answers: slower, with the same results up to rounding. `tokenizer` names a
    tokenizer other than the model's own. `quantize` is `8bit` or `4bit`. `split` divides a model over all GPUs, main
    memory and disk, which is also done if it does not fit on one device; `max_memory`, such as `{"0": "10GiB", "cpu":
    "4GiB"}`, limits what it takes of each. `chat_template` puts every text into the model's chat template, which is a
    protocol of its own. `openai:my-model@http://localhost:8000/v1` is a model behind a server, which
    is sent `concurrency` requests at a time and at most `per_minute` a minute; `timeout` is in seconds.

    `chat:my-model@http://localhost:8000/v1` and `chat:FOLDER_OR_ID` are chat models, which choose between options;
    `chat` says how they are asked and what that may cost. `tell` is called with what a run will take. `watch` is told
    the progress; `so_far` is called after every batch with a function that computes the values of the items answered
    so far, which have no interval and no verdict.

    >>> result = evaluate("bert-base-cased", "stereoset:en")  # doctest: +SKIP
    >>> result.measures.query("view == 'all' and measure == 'SS'")  # doctest: +SKIP
    """
    began = time.monotonic()
    options = ModelOptions(
        kind=kind,
        device=device,
        devices=tuple(devices),
        dtype=dtype,
        batch_tokens=batch_tokens,
        trust_remote_code=trust_remote_code,
        cache=cache_dir(),
        plain=plain,
        tokenizer=tokenizer,
        quantize=quantize,
        split=split,
        max_memory=max_memory,
        chat_template=chat_template,
        concurrency=concurrency,
        per_minute=per_minute,
        timeout=timeout,
    )
    requested = listed(models, options)
    refuse_idle_options(requested, options)
    # The name of a model behind a server may hold a password, which is nobody's business.
    names = [name_of(model) for model in requested]
    specs = [os.fspath(spec) for spec in ([on] if isinstance(on, str | os.PathLike) else on)]
    if not names or not specs:
        raise UsageError("A run needs at least one model and one benchmark.")
    if limit is not None and limit < 1:
        raise UsageError(f"A limit of {limit} items leaves nothing to ask; give at least 1.")
    if batch_tokens is not None and batch_tokens < 1:
        raise UsageError(f"A batch of {batch_tokens} tokens holds nothing; give --batch-tokens at least 1.")
    refuse_same_names(names)
    request: dict[str, Any] = {
        "models": names,
        "on": specs,
        "protocol": protocol,
        "limit": limit,
        "kind": kind,
        "dtype": dtype,
    }
    if perturb is not None:
        request["perturb"] = perturb
    if keep_tokens:
        request["keep_tokens"] = True
    if plain:
        request["plain"] = True
    if tokenizer is not None:
        request["tokenizer"] = tokenizer
    if quantize is not None:
        request["quantize"] = quantize
    if chat_template:
        request["chat_template"] = True
    if margins := read_margins(margins):
        request["margins"] = margins
    # The name of a model object does not identify it, so its fingerprint is part of the request.
    if chat not in (None, ChatOptions()) and not _are_chat_models(requested):
        raise UsageError("The design, sampling and cost of chat models are set for a run without one; name chat:MODEL.")
    chat = chat or ChatOptions()
    if fingerprints := {m.name: _fingerprint(m, chat) for m in requested if not isinstance(m, str)}:
        request["fingerprints"] = fingerprints
    chatting = _are_chat_models(requested)
    if chatting:
        request |= {"design": "full" if chat.full else "default", "samples": chat.samples}
        request |= {"temperature": chat.temperature, "max_tokens": chat.max_tokens}
    if chatting and keep_tokens:
        raise UsageError("Chat models say nothing of single tokens; leave out --keep-tokens.")
    if out is not None:
        refuse_other_run(home_path(out), request, force=force)
    by_spec = [(spec, portion) for spec in specs for portion in portions(spec)]
    refuse_overlaps(by_spec)
    available = [portion for _, portion in by_spec]
    chosen = [_perturbed(limited(portion, limit), perturb) for portion in available]
    suffixes = [name for name in (perturb, CHAT_TEMPLATE if chat_template else None) if name]
    runs: list[ModelRun] = []
    with AnswerStore(cache_dir() / "answers.sqlite") as answers, running(left_out(plain=plain)):
        if chatting:
            with ExitStack() as stack:
                chats = [stack.enter_context(opened(source, options)) for source in requested]
                runs += ask_chats(
                    [model for model in chats if isinstance(model, ChatModel)],
                    chosen,
                    protocol=protocol,
                    perturb=perturb,
                    options=chat,
                    watch=watch,
                    so_far=so_far,
                    tell=tell,
                )
        else:
            with ExitStack() as stack:
                # All are opened before the first is asked: what is wrong with the last is then known at once.
                models_to_ask: list[Model] = []
                for source in requested:
                    model = stack.enter_context(opened(source, options))
                    if isinstance(model, ChatModel):  # a plug-in may open one for any name
                        raise UsageError(_MIXED)
                    models_to_ask.append(model)
                refuse_same_models([m for m, source in zip(models_to_ask, requested, strict=True) if source is not m])
                for model in models_to_ask:
                    runs.append(
                        _ask_model(model, chosen, protocol, suffixes, answers, watch, so_far, keep_tokens, every_item)
                    )
                    model.close()
    scores = [table for run in runs for table in run.scores if not table.empty]
    refused, skipped = [e for run in runs for e in run.refused], [e for run in runs for e in run.skipped]
    if not scores:
        raise ModelError(_why_nothing(refused, skipped))
    table = pd.concat(scores, ignore_index=True)
    askings = [asking for run in runs for asking in run.askings]
    replied = [answers_table for run in runs for answers_table in run.answers]
    kept = [tokens for run in runs for tokens in run.tokens]
    families = {p.name: measures_of(p, chatting=chatting) for p in chosen}
    result = Result(
        scores=table,
        records=measure_scores(table, families, askings, margins),
        manifest=make_manifest(
            request,
            models=[run.model for run in runs],
            data=[
                {**portion.describe(), "available": len(all_items.items)}
                for portion, all_items in zip(chosen, available, strict=True)
            ],
            asked=to_dicts(askings),
            refused=refused,
            skipped=skipped,
            flagged=[entry for run in runs for entry in run.flagged],
            notes=[
                *dict.fromkeys(note for run in runs for note in run.notes),
                *([_NO_TOKENS] if keep_tokens and not kept else []),
                *measuring_notes(table, families),
                *text_notes(chosen),
            ],
            margins=margins,
            seconds=time.monotonic() - began,
        ),
        texts=item_table(chosen),
        answers=without_replies(pd.concat(replied, ignore_index=True)) if replied else None,
        tokens=pd.concat(kept, ignore_index=True) if kept else None,
    )
    if out is not None:
        result.save(out, force=force)
    return result


def _are_chat_models(requested: Sequence[str | Opened]) -> bool:
    """Whether the models of a run are chat models; they are not measured together with others."""
    chats = {m.startswith("chat:") if isinstance(m, str) else isinstance(m, ChatModel) for m in requested}
    if len(chats) > 1:
        raise UsageError(_MIXED)
    return chats.pop()


def _fingerprint(model: Opened, chat: ChatOptions) -> str:
    if isinstance(model, ChatModel):
        return model.chat_fingerprint(chat.sampling(probabilities=False))
    # A next-sentence head that was trained has weights of its own.
    return "+".join(model.fingerprint(kind) for kind in model.kinds)


def _ask_model(
    model: Model,
    chosen: Sequence[Portion],
    protocol: str,
    suffixes: Sequence[str],
    answers: AnswerStore,
    watch: Watch,
    so_far: SoFar,
    keep_tokens: bool,
    every_item: bool,
) -> ModelRun:
    """Ask a language model about all portions."""
    run = ModelRun()
    asked = []
    for portion, benchmark in _in_parts(chosen, model.kinds[0]):
        try:
            asked.append(_ask(model, portion, benchmark, protocol, suffixes, every_item))
        except CannotAsk as refusal:
            run.refused.append({"model": model.name, **portion.label(), "reason": str(refusal)})
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
    if keep_tokens:
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


def _why_nothing(refused: Sequence[Mapping[str, Any]], skipped: Sequence[Mapping[str, Any]]) -> str:
    reasons = [str(entry["reason"]) for entry in refused]
    reasons += [f"No item could be scored, because {entry['reason']}." for entry in skipped]
    return " ".join(dict.fromkeys(reasons)) or "No item could be scored."


def limited(portion: Portion, limit: int | None) -> Portion:
    """The portion with at most `limit` items, chosen by a hash of their ids: the same in all languages."""
    if limit is None or limit >= len(portion.items):
        return portion
    kept = set(sorted((item.id for item in portion.items), key=lambda i: sha256(i.encode()).digest())[:limit])
    return portion.with_items([item for item in portion.items if item.id in kept])


def _perturbed(portion: Portion, name: str | None) -> Portion:
    """The portion with this perturbation applied to every item."""
    if name is None:
        return portion
    perturbations = benchmark_for(portion.form).perturbations
    if name not in perturbations:
        known = f"there is {', '.join(perturbations)}" if perturbations else "there is none for its form of items"
        raise UsageError(f"{portion.name} has no perturbation {name!r}; {known}.")
    return portion.with_items([perturbations[name](item) for item in portion.items])


def _in_parts(chosen: Sequence[Portion], kind: Kind) -> Iterator[tuple[Portion, Benchmark]]:
    """The portions with their benchmarks, once for each part that the benchmark asks them in."""
    for portion in chosen:
        benchmark = benchmark_for(portion.form)
        for part in portion.in_parts(benchmark.parts(kind)):
            yield part, benchmark


def _ask(
    model: Model, portion: Portion, benchmark: Benchmark, protocol: str, suffixes: Sequence[str], every_item: bool
) -> _AskedPortion:
    """The questions of a portion; `suffixes` are added to the name of the protocol."""
    asked = benchmark.ask(portion.part, portion.items, model.text, protocol=protocol)
    asked.protocol = "/".join([asked.protocol, *suffixes])
    _refuse_unknown_ids(model, asked, portion)
    refuse_unreadable(portion.items, portion.form, model.text)
    doubts = doubts_of(asked, portion.items, portion.form, model.text)
    without_doubtful(asked, doubts)
    leave_out_long_items(asked, portion, model, every_item=every_item)
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
