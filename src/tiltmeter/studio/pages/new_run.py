"""The page "New run": choose models and benchmarks, see an estimate, and start, watch, stop and continue runs."""

import re
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.benchmarks import get_benchmarks
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.datasets.dataset_loader import DATASETS, get_dataset
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.measures import get_measure
from tiltmeter.models.checkpoint import EMBEDDED, find_checkpoint
from tiltmeter.options import ChatOptions, ModelOptions, OptionField, RunSettings, list_options
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.runs.run_files import MANIFEST
from tiltmeter.runs.time_estimates import format_duration
from tiltmeter.studio import responses
from tiltmeter.studio.item_counts import count_by_language
from tiltmeter.studio.job_estimate import estimate_run
from tiltmeter.studio.job_files import Job
from tiltmeter.studio.job_queue import JobQueue
from tiltmeter.studio.model_names import ENDPOINTS, format_endpoint_name, list_model_files, validate_model
from tiltmeter.studio.pages import StudioPage
from tiltmeter.studio.run_request import CHAT_PROTOCOLS, PUBLISHED, RunRequest, validate_request
from tiltmeter.studio.run_summary import summarize_run

if TYPE_CHECKING:
    from tiltmeter.studio.app import Studio

# Minimum time between two updates of the job list that are sent to a browser, in seconds.
_MESSAGE_INTERVAL = 0.25
# If a browser does not accept an update of the job list within this many seconds, its connection is closed.
_SEND_TIMEOUT = 30.0
# Maximum number of fields in a form that the studio accepts.
_MAX_FIELDS = 500
# The name of the data set that is selected when the page opens.
_FIRST = "starter"
# The options of a run that the form shows. An option has a label in `studio` if the studio shows it.
_RUN_OPTIONS = [option for option in list_options(RunSettings) if option.studio]
_SERVER_OPTIONS = [option for option in list_options(ModelOptions, ChatOptions) if option.studio]
_PLAIN = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class OfferedDataset:
    """A data set that the user can choose for a run.

    Each entry of `languages` is (code, name, number of items or None if unknown, whether the files are downloaded).
    """

    data: Dataset
    languages: tuple[tuple[str, str, int | None, bool], ...]


def _get_queue(request: Request) -> JobQueue:
    return responses.get_studio(request).jobs


def _render_page(request: Request) -> Response:
    workspace = responses.get_studio(request).workspace
    protocols = dict.fromkeys(name for benchmark in get_benchmarks().values() for name in benchmark.protocols)
    return responses.render_page(
        request,
        "new_run.html.jinja",
        embedded=EMBEDDED,
        missing=_explain_missing_model(),
        models=list_model_files(workspace),
        sets=list(DATASETS.values()),
        first=_build_offer(DATASETS[_FIRST]),
        files=sorted(map(workspace.get_relative_name, workspace.list_data_files())),
        protocols=[name for name in protocols if name != PUBLISHED],
        chat_protocols=CHAT_PROTOCOLS,
        endpoints=ENDPOINTS,
        run_options=_RUN_OPTIONS,
        server_options=_SERVER_OPTIONS,
        **_list_jobs(request),
    )


def _explain_missing_model() -> str:
    """Return the reason why the model that is shipped with Tiltmeter is not available; empty if it is available."""
    try:
        find_checkpoint(EMBEDDED)
    except TiltmeterError as error:
        return str(error)
    return ""


def _render_dataset(request: Request) -> Response:
    """Render the languages of a data set, with the number of items in each language."""
    offer = _build_offer(get_dataset(request.path_params["name"]))
    return responses.render_fragment(request, "new_run_set.html.jinja", set=offer, chosen=False)


def _build_offer(data: Dataset) -> OfferedDataset:
    counts = count_by_language(data)
    here = {code: all(source.is_local() for source in data.select(None, [code])) for code in data.languages}
    return OfferedDataset(
        data, tuple((code, get_language_name(code), counts[code], here[code]) for code in data.languages)
    )


async def _add_model(request: Request) -> Response:
    form = await _read_form(request)
    where, name, address = (_get_text(form, field) for field in ("where", "name", "address"))
    workspace = responses.get_studio(request).workspace
    if not name:
        raise UsageError("Enter the name of the model.")
    if where in ENDPOINTS:
        model = format_endpoint_name(where, name, address)
    else:
        model = await run_in_threadpool(validate_model, f"chat:{name}" if where == "chat-here" else name, workspace)
    response = responses.render_fragment(request, "new_run_model.html.jinja", model=model)
    response.headers["HX-Trigger-After-Swap"] = "estimate"
    return response


async def _render_estimate(request: Request) -> Response:
    form = await _read_form(request)
    return await run_in_threadpool(_render_form_estimate, request, form)


def _render_form_estimate(request: Request, form: FormData) -> Response:
    """Render the estimated time and cost of the run in the form, or the reason why this run cannot be started yet."""
    workspace = responses.get_studio(request).workspace
    try:
        estimate = estimate_run(validate_request(_build_request(form, _get_queue(request)), workspace), workspace)
    except TiltmeterError as error:
        return responses.render_fragment(request, "new_run_estimate.html.jinja", estimate=None, problem=str(error))
    return responses.render_fragment(request, "new_run_estimate.html.jinja", estimate=estimate, problem="")


async def _start_run(request: Request) -> Response:
    form = await _read_form(request)
    queue = _get_queue(request)
    job = await run_in_threadpool(lambda: queue.add_job(_build_request(form, queue)))
    return responses.render_fragment(request, "new_run_jobs.html.jinja", **_list_jobs(request, job.id))


def _change_job(request: Request) -> Response:
    queue, job_id = _get_queue(request), request.path_params["job"]
    actions = {"stop": queue.stop_job, "go-on": queue.resume_job, "remove": queue.remove_job}
    action = request.path_params["action"]
    if action not in actions:
        raise UsageError(f"Unknown action {action!r} on a job; choose one of {', '.join(actions)}.")
    actions[action](job_id)
    return responses.render_fragment(request, "new_run_jobs.html.jinja", **_list_jobs(request, job_id))


async def _stream_jobs(request: Request) -> Response:
    """Send the list of jobs to the browser whenever the list has changed, at most four times a second."""
    queue = _get_queue(request)

    async def stream_changes() -> AsyncIterator[ServerSentEvent]:
        sent = -1
        while True:
            if queue.version != sent:
                sent = queue.version
                fragment = await run_in_threadpool(
                    lambda: responses.render_fragment(request, "new_run_jobs.html.jinja", **_list_jobs(request))
                )
                yield ServerSentEvent(bytes(fragment.body).decode(), event="jobs")
            await anyio.sleep(_MESSAGE_INTERVAL)

    return EventSourceResponse(stream_changes(), send_timeout=_SEND_TIMEOUT)


def _list_jobs(request: Request, focus: str = "") -> dict[str, Any]:
    """Return the values for the template of the job list; `focus` is the id of the job whose heading gets the focus."""
    queue = _get_queue(request)
    jobs = queue.listed
    return {
        "jobs": jobs,
        "trouble": queue.trouble,
        "focus": focus,
        "leads": {job.id: _list_verdicts(queue, job) for job in jobs if job.state == "finished"},
        "duration": format_duration,
        "language_name": get_language_name,
        "number": lambda value: get_measure(value["measure"]).number(value["value"]),
    }


def _list_verdicts(queue: JobQueue, job: Job) -> tuple[str, ...]:
    """Return the headline of each benchmark in the run of a finished job; empty if the run was moved or deleted."""
    manifest = queue.workspace.get_run_folder(job.request.name) / MANIFEST
    try:
        changed = manifest.stat().st_mtime_ns
    except OSError:
        return ()
    return _read_verdicts(str(manifest.parent), changed)


@lru_cache(maxsize=500)
def _read_verdicts(folder: str, _changed: int) -> tuple[str, ...]:
    return tuple(benchmark.lead for benchmark in summarize_run(Path(folder)).benchmarks)


async def _read_form(request: Request) -> FormData:
    return await request.form(max_files=0, max_fields=_MAX_FIELDS)


def _build_request(form: FormData, queue: JobQueue) -> RunRequest:
    models = _get_texts(form, "model")
    on = _build_specs(_get_texts(form, "on"))
    return RunRequest(
        name=_get_text(form, "name") or _find_free_name(models, on, queue),
        models=tuple(models),
        on=tuple(on),
        protocol=_get_text(form, "protocol") or PUBLISHED,
        **{option.field: _read_value(form, option) for option in (*_RUN_OPTIONS, *_SERVER_OPTIONS)},
    )


def _build_specs(chosen: list[str]) -> list[str]:
    """Return the chosen benchmarks, with all chosen languages of a data set in one specification.

    >>> _build_specs(["starter:en", "starter:de", "my.jsonl"])
    ['starter:en,de', 'my.jsonl']
    """
    languages: dict[str, list[str]] = {}
    for spec in chosen:
        name, colon, language = spec.partition(":")
        languages.setdefault(name, []).extend([language] if colon else [])
    return [f"{name}:{','.join(codes)}" if codes else name for name, codes in languages.items()]


def _find_free_name(models: list[str], on: list[str], queue: JobQueue) -> str:
    """Return an unused name for a run, built from the names of its first model and first benchmark."""
    first = [text[0].split("@")[0].removesuffix("/").rsplit("/", 1)[-1] for text in (models, on) if text]
    plain = _PLAIN.sub("-", "-".join(first)).strip("-.")[:60] or "run"
    taken = {job.request.name for job in queue.list_jobs()}
    name, number = plain, 1
    while name in taken or queue.workspace.get_run_folder(name).exists():
        number += 1
        name = f"{plain}-{number}"
    return name


def _get_texts(form: FormData, field: str) -> list[str]:
    return [value.strip() for value in form.getlist(field) if isinstance(value, str) and value.strip()]


def _get_text(form: FormData, field: str) -> str:
    return next(iter(_get_texts(form, field)), "")


def _read_value(form: FormData, option: OptionField) -> Any:
    """Return the value that the user entered for an option; None if the field is empty."""
    text = _get_text(form, option.field)
    if not text or option.kind.type is str:
        return text or None
    if option.kind.type is int:
        return responses.parse_whole_number(text, f"“{option.studio}”")
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"“{option.studio}” must be a number, but is {text[:30]!r}.") from None


def _run_jobs(studio: "Studio") -> AbstractContextManager[None]:
    return studio.jobs.run_scheduler_thread()


STUDIO_PAGE = StudioPage(
    "New run",
    "/new-run",
    [
        Route("/new-run", _render_page),
        Route("/new-run/sets/{name}", _render_dataset),
        Route("/new-run/models", _add_model, methods=["POST"]),
        Route("/new-run/estimate", _render_estimate, methods=["POST"]),
        Route("/new-run/start", _start_run, methods=["POST"]),
        Route("/new-run/events", _stream_jobs),
        Route("/new-run/jobs/{job}/{action}", _change_job, methods=["POST"]),
    ],
    running=_run_jobs,
    order=20,
)
