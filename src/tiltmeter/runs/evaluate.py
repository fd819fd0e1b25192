"""Evaluate models on benchmarks, and return the scores and measures."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.file_hashes import cache_hashes
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.speedups import apply_process_speedups
from tiltmeter.models.model_opener import (
    AnyModel,
    ModelInput,
    list_given_models,
    pair_with_tokenizer,
    select_disabled_speedups,
    use_model,
)
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.options import ChatOptions, ModelOptions, RunSettings, build_options
from tiltmeter.progress.notebook_progress import show_in_notebook
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.questions import Kind
from tiltmeter.runs.chat_run import ask_chat_models
from tiltmeter.runs.duplicates import reject_same_models
from tiltmeter.runs.interim_values import OnInterim
from tiltmeter.runs.language_model_run import ask_model
from tiltmeter.runs.look_store import list_looks, record_looks
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.result import Result, reject_other_run
from tiltmeter.runs.result_assembly import assemble_result
from tiltmeter.runs.run_preparation import PreparedRun, build_request, limit_items, prepare_run
from tiltmeter.runs.run_timings import RunTimer
from tiltmeter.runs.sequential_run import add_stop_note, describe_stop, find_open_rows, list_look_sizes
from tiltmeter.text_files import expand_home


def evaluate(
    models: ModelInput | Sequence[ModelInput],
    on: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    protocol: str = "published",
    perturb: str | None = None,
    limit: int | None = None,
    until_conclusive: bool = False,
    kind: Kind | None = None,
    device: str = "auto",
    devices: Sequence[str] = (),
    dtype: str = "auto",
    batch_tokens: int | None = None,
    trust_remote_code: bool = False,
    plain: bool = False,
    tokenizer: Any = None,
    quantize: str | None = None,
    split: bool = False,
    max_memory: Mapping[str, str] | None = None,
    chat_template: bool = False,
    system_prompt: str | None = None,
    persona: str | None = None,
    thinking: str | None = None,
    thinking_tokens: int | None = None,
    concurrency: int = 16,
    per_minute: int | None = None,
    timeout: float = 300.0,
    chat: ChatOptions | None = None,
    margins: Mapping[str, float] | None = None,
    family: str = "portion",
    fixed: Sequence[str] = (),
    keep_tokens: bool = False,
    every_item: bool = False,
    out: Path | str | None = None,
    force: bool = False,
    watch: ShowProgress = show_in_notebook,
    so_far: OnInterim = lambda _values: None,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> Result:
    """Measure the bias of models towards stereotypes.

    `models` is one of these, or a list of them: a folder, .gguf file, hub id (`id@revision`), adapter, `BASE+ADAPTER`,
    or `embedded`; a loaded transformers model with its tokenizer, as `(model, tokenizer)`; any object with the protocol
    `Model`; a model on a server, such as `openai:my-model@http://localhost:8000/v1`; or a chat model, such as
    `chat:my-model@http://localhost:8000/v1` or `chat:FOLDER_OR_ID`. `on` names benchmarks: `stereoset:en,de`,
    `stereoset/intrasentence:de`, `starter`, or a JSONL file.

    The run: `limit` is the maximum number of items of each part and language; the sample has the same items in all
    languages. `until_conclusive` measures growing samples, and stops when all verdicts are settled. `perturb` applies a
    perturbation to every item, for example `drop-final-character` to pairs. `margins` replaces default equivalence
    margins, for example `{"SS": 3}`. `family` says which tests are corrected together: those of one part and language
    (`portion`), or all tests (`run`). `fixed` are factors over which results do not generalise, for example
    `["words"]`. `keep_tokens` stores the log-probability of each token of sentence pairs, for the report. Items that
    are too long for a model are skipped and listed. If they are more than 1% of the items of a part in a language, the
    run stops; with `every_item`, it stops if any item is too long. `out` is the folder to write the run to.

    Local models: `kind`, `device`, `dtype`, `batch_tokens` and `trust_remote_code` are the options of the command line;
    `devices` uses several devices in parallel, such as `["cuda:0", "cuda:1"]`. `plain` disables all speed-ups and
    recomputes all answers: slower, with the same results up to rounding. `tokenizer` names a tokenizer to use instead
    of the model's own; for a loaded model it is the loaded tokenizer: `evaluate(model, on, tokenizer=tokenizer)`.
    `quantize` is `8bit` or `4bit`. `split` divides a model over all GPUs, main memory and disk, which is automatic if
    it does not fit on one device; `max_memory` limits its memory, for example `{"0": "10GiB", "cpu": "4GiB"}`.
    `chat_template` inserts every text into the model's chat template, which is a separate protocol.

    Chat models: `system_prompt` is a text that is sent before every message, `persona` a description of a role that
    follows it. `thinking` is `on` or `off`, and `thinking_tokens` is the maximum length of the thinking. A model with
    one of them is a variant of the model: it has its own name, and its replies are stored separately. `chat` has
    further options, among them `frames`.

    Servers: up to `concurrency` requests are sent in parallel, and at most `per_minute` per minute; `timeout` is in
    seconds. Before the first request, `tell` is called with the numbers of requests and tokens.

    `watch` shows the progress. `so_far` is called after every batch with a function that computes interim values of
    the answered items, without interval and verdict.

    >>> result = evaluate("bert-base-cased", "stereoset:en")  # doctest: +SKIP
    >>> result.measures.query("view == 'all' and measure == 'SS'")  # doctest: +SKIP
    """
    if tokenizer is not None and not isinstance(tokenizer, str | os.PathLike):
        models, tokenizer = pair_with_tokenizer(models, tokenizer), None
    given = dict(locals()) | {"tokenizer": None if tokenizer is None else os.fspath(tokenizer)}
    options = build_options(ModelOptions, given, devices=tuple(devices))
    settings = build_options(RunSettings, given, margins=margins or {}, fixed=tuple(fixed))
    timer = RunTimer(watch)
    result = measure_models(
        models, on, settings, options, out=out, force=force, watch=timer.watch_progress, so_far=so_far, tell=tell
    )
    timer.save(result)
    return result


@cache_hashes()
def measure_models(
    models: ModelInput | Sequence[ModelInput],
    on: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    settings: RunSettings,
    options: ModelOptions,
    *,
    out: Path | str | None = None,
    force: bool = False,
    watch: ShowProgress = show_in_notebook,
    so_far: OnInterim = lambda _values: None,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> Result:
    """Measure the bias of models like `evaluate`, but take the arguments as `RunSettings` and `ModelOptions`."""
    began = time.monotonic()
    options = replace(options, cache=options.cache or get_cache_folder())
    requested = list_given_models(models, options)
    specs = [os.fspath(spec) for spec in ([on] if isinstance(on, str | os.PathLike) else on)]
    request = build_request(requested, specs, settings, options)
    if out is not None:
        reject_other_run(expand_home(out), request, force=force)
    prepared = prepare_run(requested, specs, settings, options, request)
    largest = max((len(portion.items) for portion in prepared.chosen), default=1)
    sizes = list_look_sizes(largest) if settings.until_conclusive else [largest]
    with (
        apply_process_speedups(select_disabled_speedups(plain=options.plain)),
        _open_models(requested, options) as models,
    ):
        for size in sizes:
            sample = replace(prepared, chosen=[limit_items(portion, size) for portion in prepared.chosen])
            ask = _ask_chat_models if prepared.is_chat else _ask_language_models
            runs = ask(models, sample, watch, so_far, tell, keep_open=len(sizes) > 1)
            looks = record_looks(get_cache_folder(), list_looks(sample, runs))
            result = assemble_result(sample, runs, looks, time.monotonic() - began)
            if not find_open_rows(result.records):
                break
    if settings.until_conclusive:
        result = add_stop_note(result, describe_stop(result, sizes.index(size) + 1, size, largest))
    if out is not None:
        result.save(out, force=force)
    return result


@contextmanager
def _open_models(requested: Sequence[str | AnyModel], options: ModelOptions) -> Iterator[list[AnyModel]]:
    """Open all models before asking the first model, so that an error in any model is reported early."""
    with ExitStack() as stack:
        models = [stack.enter_context(use_model(source, options)) for source in requested]
        opened = [model for model, source in zip(models, requested, strict=True) if source is not model]
        reject_same_models([model for model in opened if not isinstance(model, ChatModel)])
        yield models


def _ask_chat_models(
    models: Sequence[AnyModel],
    prepared: PreparedRun,
    watch: ShowProgress,
    so_far: OnInterim,
    tell: Callable[[str], None],
    *,
    keep_open: bool,
) -> list[ModelOutput]:
    with ReplyStore(get_cache_folder() / "replies.sqlite") as store:
        chats = [model for model in models if isinstance(model, ChatModel)]
        return ask_chat_models(chats, prepared, store, watch=watch, so_far=so_far, tell=tell, keep_open=keep_open)


def _ask_language_models(
    models: Sequence[AnyModel],
    prepared: PreparedRun,
    watch: ShowProgress,
    so_far: OnInterim,
    _tell: Callable[[str], None],
    *,
    keep_open: bool,
) -> list[ModelOutput]:
    runs: list[ModelOutput] = []
    with AnswerStore(get_cache_folder() / "answers.sqlite") as answers:
        for model in models:
            if not isinstance(model, ChatModel):
                runs.append(ask_model(model, prepared, answers, watch, so_far))
                if not keep_open:
                    model.close()
    return runs
