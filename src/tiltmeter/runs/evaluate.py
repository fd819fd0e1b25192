"""Evaluate models on benchmarks: from names to scores and measures."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.file_hashes import cache_hashes
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.speedups import apply_process_speedups
from tiltmeter.errors import UsageError
from tiltmeter.models.model_opener import AnyModel, ModelInput, select_disabled_speedups, to_model_list, use_model
from tiltmeter.models.model_protocol import ChatModel, Model, ModelOptions
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.questions import Kind
from tiltmeter.runs.chat_budget import ChatOptions
from tiltmeter.runs.chat_run import ask_chats
from tiltmeter.runs.duplicates import reject_same_models
from tiltmeter.runs.interim_values import OnInterim
from tiltmeter.runs.language_model_run import Watch, ask_model
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.notebook_progress import show_notebook_bar
from tiltmeter.runs.preparation import MIXED, PreparedRun, RunSettings, build_request, prepare_run
from tiltmeter.runs.result import Result, reject_other_run
from tiltmeter.runs.result_assembly import assemble_result
from tiltmeter.text_files import expand_home


@cache_hashes()
def evaluate(
    models: ModelInput | Sequence[ModelInput],
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
    watch: Watch = show_notebook_bar,
    so_far: OnInterim = lambda _values: None,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> Result:
    """Measure the bias of models towards stereotypes.

    `models` are folders, .gguf files, hub ids (`id@revision`), adapters, `BASE+ADAPTER` or `embedded`; a loaded
    transformers model with its tokenizer, as `(model, tokenizer)`; or any object with the protocol `Model`. `on` names
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
        cache=get_cache_folder(),
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
    settings = RunSettings(
        protocol=protocol,
        perturb=perturb,
        limit=limit,
        chat=chat,
        margins=margins or {},
        keep_tokens=keep_tokens,
        every_item=every_item,
    )
    requested = to_model_list(models, options)
    specs = [os.fspath(spec) for spec in ([on] if isinstance(on, str | os.PathLike) else on)]
    request = build_request(requested, specs, settings, options)
    if out is not None:
        reject_other_run(expand_home(out), request, force=force)
    prepared = prepare_run(requested, specs, settings, options, request)
    with apply_process_speedups(select_disabled_speedups(plain=plain)):
        if prepared.is_chat:
            runs = _ask_chats(requested, prepared, watch, so_far, tell)
        else:
            runs = _ask_models(requested, prepared, watch, so_far)
    result = assemble_result(prepared, runs, time.monotonic() - began)
    if out is not None:
        result.save(out, force=force)
    return result


def _ask_chats(
    requested: Sequence[str | AnyModel],
    prepared: PreparedRun,
    watch: Watch,
    so_far: OnInterim,
    tell: Callable[[str], None],
) -> list[ModelOutput]:
    with ReplyStore(get_cache_folder() / "replies.sqlite") as store, ExitStack() as stack:
        chats = [stack.enter_context(use_model(source, prepared.options)) for source in requested]
        models = [model for model in chats if isinstance(model, ChatModel)]
        return ask_chats(models, prepared, store, watch=watch, so_far=so_far, tell=tell)


def _ask_models(
    requested: Sequence[str | AnyModel], prepared: PreparedRun, watch: Watch, so_far: OnInterim
) -> list[ModelOutput]:
    runs: list[ModelOutput] = []
    with AnswerStore(get_cache_folder() / "answers.sqlite") as answers, ExitStack() as stack:
        # All are opened before the first is asked: what is wrong with the last is then known at once.
        models_to_ask: list[Model] = []
        for source in requested:
            model = stack.enter_context(use_model(source, prepared.options))
            if isinstance(model, ChatModel):  # a plug-in may open one for any name
                raise UsageError(MIXED)
            models_to_ask.append(model)
        reject_same_models([m for m, source in zip(models_to_ask, requested, strict=True) if source is not m])
        for model in models_to_ask:
            runs.append(ask_model(model, prepared, answers, watch, so_far))
            model.close()
    return runs
