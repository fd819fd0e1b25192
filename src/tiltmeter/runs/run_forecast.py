"""The forecast of a run: items, requests, tokens, cost, time, and the bias that it can show; no model is asked."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.file_hashes import cache_hashes
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.models.model_opener import AnyModel, ModelInput, list_given_models, use_model
from tiltmeter.models.model_protocol import ChatModel, Model
from tiltmeter.models.option_scope import find_source
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.models.scheme import find_scheme
from tiltmeter.options import ChatOptions, ModelOptions, RunSettings, build_options
from tiltmeter.runs.chat_budget import Budget
from tiltmeter.runs.chat_run import estimate_budget
from tiltmeter.runs.offline_models import disable_hub, has_model_files
from tiltmeter.runs.portion_blocks import collect_question_lengths
from tiltmeter.runs.run_preparation import PreparedRun, build_request, prepare_run
from tiltmeter.runs.run_timings import load_timings
from tiltmeter.runs.sample_power import SamplePower, compute_sample_power
from tiltmeter.runs.time_estimates import ModelEstimate, ModelSize, estimate_model


@dataclass(frozen=True, slots=True)
class ModelWork:
    """The work of one model in a run.

    `questions` is the number of questions (or messages) without a stored answer, `stored` the number of those with
    one, and `tokens` the number of input tokens; all are None if the questions cannot be counted, and `why` is then the
    reason. `budget` is the budget of a chat model.
    """

    model: str
    questions: int | None = None
    stored: int | None = None
    tokens: int | None = None
    budget: Budget | None = None
    time: ModelEstimate = field(default_factory=lambda: ModelEstimate(""))
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunForecast:
    """The forecast of a run: the number of items, the work of each model, and the bias that each portion can show.

    `cost` is the maximum cost of all chat models together, and None if no prices are known. `needs_consent` is true if
    the cost exceeds the limit.
    """

    items: int
    models: tuple[ModelWork, ...]
    power: tuple[SamplePower, ...]
    cost: float | None = None
    currency: str = ""
    needs_consent: bool = False

    @property
    def seconds(self) -> float | None:
        """The estimated seconds of all models; None if the time of a model is unknown."""
        known = [work.time.seconds for work in self.models if work.time.seconds is not None]
        return sum(known) if len(known) == len(self.models) else None


def plan_run(
    models: ModelInput | Sequence[ModelInput],
    on: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    effect: float | None = None,
    **settings: Any,
) -> RunForecast:
    """Return the forecast of a run before it: items, requests, tokens, cost, time, and the bias that it can show.

    `settings` are other parameters of `evaluate`, such as `limit=200` or `chat=ChatOptions(price_in=1, price_out=2)`.
    `effect` is the bias of interest in points; the default is the margin. Data sets are downloaded, but no model is
    downloaded or asked. `tiltmeter run --dry-run` prints the same forecast.

    >>> plan = plan_run("embedded", "starter/intrasentence:en")
    >>> plan.items, plan.power[0].needed
    (40, 783)
    """
    given = {field.name for group in (RunSettings, ModelOptions) for field in fields(group)}
    if unknown := settings.keys() - given:
        raise UsageError(f"{min(unknown)} is not a setting of a run; see the parameters of tiltmeter.evaluate.")
    return forecast_run(
        models, on, build_options(RunSettings, settings), build_options(ModelOptions, settings), effect=effect
    )


@cache_hashes()
def forecast_run(
    models: ModelInput | Sequence[ModelInput],
    on: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    settings: RunSettings,
    options: ModelOptions,
    *,
    effect: float | None = None,
) -> RunForecast:
    """Return the forecast of a run, whose arguments are those of `measure_models`.

    `effect` is the bias of interest in points; the default is the margin. Data sets are downloaded, but no model is
    downloaded or asked.
    """
    options = replace(options, cache=options.cache or get_cache_folder())
    requested = list_given_models(models, options)
    specs = [os.fspath(spec) for spec in ([on] if isinstance(on, str | os.PathLike) else on)]
    prepared = prepare_run(requested, specs, settings, options, build_request(requested, specs, settings, options))
    works = tuple(_forecast_model(source, prepared) for source in requested)
    budgets = [work.budget for work in works if work.budget is not None]
    chat = settings.chat or ChatOptions()
    total = sum(budgets, Budget.create_empty(chat))
    limit = chat.cost_limit
    return RunForecast(
        sum(len(portion.items) for portion in prepared.chosen),
        works,
        tuple(compute_sample_power(prepared, effect)),
        total.cost if budgets else None,
        chat.currency if budgets else "",
        limit is not None and total.cost is not None and total.cost > limit,
    )


def _forecast_model(source: str | AnyModel, prepared: PreparedRun) -> ModelWork:
    name = source if isinstance(source, str) else source.name
    place = find_source(source)
    work, size = ModelWork(name), ModelSize()
    if place == "named" and not has_model_files(name.partition(":")[2] if find_scheme(name) else name):
        work = replace(work, why="The model is not downloaded, so its questions are not counted.")
    else:
        try:
            with disable_hub(), ExitStack() as stack:
                # A loaded model stays open, because it belongs to the caller.
                model = stack.enter_context(use_model(name, prepared.options)) if isinstance(source, str) else source
                if isinstance(model, ChatModel):
                    work = _count_messages(model, prepared)
                    size = ModelSize(getattr(model, "size", None), "chat")
                else:
                    work = _count_questions(model, prepared, is_local=place in ("named", "loaded"))
                    size = ModelSize(getattr(model, "size", None), model.kinds[0])
        except (TiltmeterError, OSError) as error:
            work = replace(work, why=str(error))
    items = sum(len(portion.items) for portion in prepared.chosen)
    forms = " ".join(sorted({portion.form for portion in prepared.chosen}))
    total = (work.questions or 0) + (work.stored or 0)
    estimate = estimate_model(
        work.model,
        size,
        forms,
        prepared.settings.protocol,
        items,
        load_timings(),
        unanswered=(work.questions or 0) / total if total else 1.0,
        tokens=work.tokens,
    )
    return replace(work, time=estimate)


def _count_messages(model: ChatModel, prepared: PreparedRun) -> ModelWork:
    with ReplyStore(get_cache_folder() / "replies.sqlite") as store:
        budget, stored = estimate_budget(model, prepared, store)
    return ModelWork(model.name, budget.requests, stored, budget=budget)


def _count_questions(model: Model, prepared: PreparedRun, *, is_local: bool) -> ModelWork:
    """Count the questions of a run; the answers of a server are not looked up, because this needs a test of it."""
    lengths = collect_question_lengths(model, prepared)
    stored = 0
    path: Path = get_cache_folder() / "answers.sqlite"
    if is_local and path.is_file() and not prepared.options.plain:
        with AnswerStore(path) as answers:
            stored = sum(len(answers.get(model.fingerprint(kind), of_kind)) for kind, of_kind in lengths.items())
    questions = sum(map(len, lengths.values()))
    tokens = sum(sum(of_kind.values()) for of_kind in lengths.values())
    return ModelWork(model.name, questions - stored, stored, tokens)
