"""The page "Runs": the list of runs, reports, comparisons, downloads and the trash."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.studio import responses
from tiltmeter.studio.pages import StudioPage
from tiltmeter.studio.pages.permissions import build_form_route
from tiltmeter.studio.request_guard import FRAMED_POLICY
from tiltmeter.studio.run_comparison import KINDS, ComparisonRequest, RunComparisons, build_comparison_request
from tiltmeter.studio.run_downloads import DOWNLOADS, build_download
from tiltmeter.studio.run_folders import find_run_folder
from tiltmeter.studio.run_index import ListedRun, RunFilter, RunIndex, list_choices
from tiltmeter.studio.run_reports import RunReports
from tiltmeter.studio.run_summary import TONES
from tiltmeter.studio.run_trash import DAYS, RunTrash

if TYPE_CHECKING:
    from tiltmeter.studio.app import Studio

# Number of runs that the list shows before the user presses "Show more".
PAGE = 50
# Maximum time for reading the files of new runs in one request, in seconds; the next request reads further runs.
_READING = 0.4
# Labels for the properties in which compared runs may differ, which are the values of `comparability.ACROSS`.
_ACROSS = {
    "kinds": "kind of model (masked, causal, encoder-decoder)",
    "protocols": "protocol",
    "editions": "data files",
    "tokenizers": "tokenizer (for measures per token)",
}


@dataclass
class _RunsState:
    """The objects that the page "Runs" needs; they exist as long as the studio is running."""

    index: RunIndex
    trash: RunTrash
    reports: RunReports = field(default_factory=RunReports)
    comparisons: RunComparisons = field(default_factory=RunComparisons)


_STATES: "WeakKeyDictionary[Studio, _RunsState]" = WeakKeyDictionary()


@contextmanager
def _keep_services_running(studio: "Studio") -> Iterator[None]:
    """Create the objects of this page and delete expired runs from the trash; at the end, stop creating reports."""
    index = RunIndex(studio.workspace, studio.jobs.list_busy_folders)
    state = _STATES[studio] = _RunsState(index, RunTrash(index))
    state.trash.delete_expired_runs()
    try:
        yield
    finally:
        state.reports.close()
        del _STATES[studio]


def _get_state(request: Request) -> _RunsState:
    return _STATES[responses.get_studio(request)]


def _render_runs(request: Request) -> Response:
    values = _list_runs(request)
    return responses.render_page(
        request, "runs.html.jinja", **values, tones=TONES, workspace=_get_state(request).index.workspace
    )


def _render_list(request: Request) -> Response:
    """Render the list of runs that match the filters.

    If the query has a `start`, render only the runs from this position, for the button "Show more".
    """
    values = _list_runs(request)
    if values["start"]:
        return responses.render_fragment(request, "runs_more.html.jinja", **values)
    response = responses.render_fragment(request, "runs_list.html.jinja", **values)
    response.headers["HX-Replace-Url"] = f"/runs?{values['query']}" if values["query"] else "/runs"
    return response


def _list_runs(request: Request) -> dict[str, Any]:
    given = request.query_params
    run_filter = RunFilter(**{name: given.get(name, "") for name in asdict(RunFilter())})
    start = responses.parse_whole_number(given.get("start") or "0", "The number of the first run")
    runs = _get_state(request).index.list_runs(_READING)
    matching = [run for run in runs if run_filter.is_listed(run)]
    query = urlencode({name: value for name, value in asdict(run_filter).items() if value})
    return {
        "runs": matching[start : start + PAGE],
        "start": start,
        "next": start + PAGE if len(matching) > start + PAGE else None,
        "matching": len(matching),
        "all": len(runs),
        "unread": sum(not run.is_read for run in runs),
        "run_filter": run_filter,
        "query": query,
        "choices": list_choices(runs),
        "language_name": get_language_name,
        "format_time": format_time,
    }


def format_time(finished: str) -> str:
    """Format a time in ISO format for display; an empty text remains empty.

    >>> format_time("2026-01-02T03:04:05+00:00")
    '2 January 2026, 03:04 UTC'
    """
    return f"{datetime.fromisoformat(finished):%d %B %Y, %H:%M} UTC".lstrip("0") if finished else ""


def _render_run(request: Request) -> Response:
    state = _get_state(request)
    run = state.index.get_run(_get_run_name(request))
    return responses.render_page(
        request,
        "runs_open.html.jinja",
        run=run,
        report=_get_report_state(state, run),
        downloads=DOWNLOADS,
        format_time=format_time,
        language_name=get_language_name,
    )


def _render_report_state(request: Request) -> Response:
    """Render the frame with the report of a run, or a message if the report does not exist yet."""
    state = _get_state(request)
    run = state.index.get_finished_run(_get_run_name(request))
    return responses.render_fragment(request, "runs_report.html.jinja", run=run, report=_get_report_state(state, run))


def _get_report_state(state: _RunsState, run: ListedRun) -> dict[str, Any]:
    """Return `ready` (whether the report of a run can be opened) and `problem` (why it cannot be created, or empty)."""
    if not run.is_whole:
        return {"ready": False, "problem": ""}
    try:
        path = state.reports.get_report(state.index.workspace.resolve_path(run.path))
    except TiltmeterError as error:
        return {"ready": False, "problem": str(error)}
    return {"ready": path is not None, "problem": ""}


def _serve_report(request: Request) -> Response:
    """Send the report of a run, for display in a frame or, if the query contains `save`, as a download."""
    state = _get_state(request)
    run = state.index.get_finished_run(_get_run_name(request))
    path = state.reports.wait_for_report(state.index.workspace.resolve_path(run.path))
    response = FileResponse(path, media_type="text/html")
    response.headers["Content-Security-Policy"] = FRAMED_POLICY
    if "save" in request.query_params:
        response.headers["Content-Disposition"] = _format_attachment(run, "html")
    return response


def _serve_download(request: Request) -> Response:
    state = _get_state(request)
    run = state.index.get_finished_run(_get_run_name(request))
    model = request.query_params.get("model")
    chosen, text = build_download(
        request.query_params.get("as", ""), state.index.workspace.resolve_path(run.path), model
    )
    return Response(
        text,
        media_type=f"{chosen.media}; charset=utf-8",
        headers={"Content-Disposition": _format_attachment(run, chosen.suffix)},
    )


def _format_attachment(run: ListedRun, suffix: str) -> str:
    name = "".join(letter if letter.isalnum() or letter in " .-_" else "-" for letter in run.name).strip(" .")
    return f"attachment; filename*=UTF-8''{quote(f'{name}.{suffix}' if name else f'run.{suffix}', safe='')}"


def _describe_run(request: Request, given: Mapping[str, str]) -> Response:
    """Set the display name and the tags of a run."""
    index, path = _get_state(request).index, given.get("run", "")
    index.write_description(path, name=given.get("name"), tags=given.get("tags"))
    return responses.render_fragment(request, "runs_described.html.jinja", run=index.get_run(path), saved=True)


def _delete_run(request: Request, given: Mapping[str, str]) -> Response:
    _get_state(request).trash.delete_run(given.get("run", ""))
    return responses.redirect(request, "/runs")


def _render_trash(request: Request) -> Response:
    deleted = _get_state(request).trash.list_deleted_runs()
    return responses.render_page(request, "runs_trash.html.jinja", deleted=deleted, days=DAYS)


def _restore_run(request: Request, given: Mapping[str, str]) -> Response:
    path = _get_state(request).trash.restore_run(given.get("deleted", ""))
    return responses.redirect(request, f"/runs/open?{urlencode({'run': path})}")


def _render_compare(request: Request) -> Response:
    comparison = _parse_comparison(request)
    return responses.render_page(
        request,
        "runs_compare.html.jinja",
        comparison=comparison,
        paths=request.query_params.getlist("run"),
        query=_build_query(request),
        swapped=_build_query(request, reverse=True),
        kinds=KINDS,
        across_words=_ACROSS,
    )


def _render_comparison(request: Request) -> Response:
    """Render the result of a comparison of runs."""
    result = _get_state(request).comparisons.get_comparison(_parse_comparison(request))
    return responses.render_fragment(request, "runs_compared.html.jinja", result=result, query=_build_query(request))


def _serve_comparison(request: Request) -> Response:
    """Send the page of a comparison, for display in a frame or, if the query contains `save`, as a download."""
    result = _get_state(request).comparisons.get_comparison(_parse_comparison(request))
    if result.problem:
        raise UsageError(result.problem)
    response = HTMLResponse(result.page, headers={"Content-Security-Policy": FRAMED_POLICY})
    if "save" in request.query_params:
        response.headers["Content-Disposition"] = "attachment; filename=comparison.html"
    return response


def _build_query(request: Request, *, reverse: bool = False) -> str:
    """Return the parameters of the request that describe a comparison, as a query string for links to the result.

    With `reverse`, the runs are in reverse order.
    """
    given = request.query_params
    runs = [("run", run) for run in given.getlist("run")]
    options = [entry for entry in given.multi_items() if entry[0] in ("by", "across")]
    return urlencode([*(reversed(runs) if reverse else runs), *options])


def _parse_comparison(request: Request) -> ComparisonRequest:
    index, given = _get_state(request).index, request.query_params
    runs = [index.get_finished_run(path) for path in dict.fromkeys(given.getlist("run"))]
    distinct = len({run.name for run in runs}) == len(runs)
    folders = {run.name if distinct else run.path: index.workspace.resolve_path(run.path) for run in runs}
    state = tuple(find_run_folder(folder) for folder in folders.values())
    return build_comparison_request(folders, given.get("by", ""), tuple(given.getlist("across")), state)


def _get_run_name(request: Request) -> str:
    return request.query_params.get("run", "")


STUDIO_PAGE = StudioPage(
    "Runs",
    "/runs",
    [
        Route("/runs", _render_runs),
        Route("/runs/list", _render_list),
        Route("/runs/open", _render_run),
        Route("/runs/state", _render_report_state),
        Route("/runs/report", _serve_report),
        Route("/runs/download", _serve_download),
        build_form_route("/runs/describe", _describe_run),
        build_form_route("/runs/delete", _delete_run),
        Route("/runs/trash", _render_trash),
        build_form_route("/runs/restore", _restore_run),
        Route("/runs/compare", _render_compare),
        Route("/runs/compared", _render_comparison),
        Route("/runs/comparison", _serve_comparison),
    ],
    running=_keep_services_running,
    order=10,
)
