"""The studio as an application of Starlette."""

import errno
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tiltmeter.errors import TiltmeterError
from tiltmeter.studio import responses
from tiltmeter.studio.job_queue import JobQueue
from tiltmeter.studio.login_attempts import LoginAttempts
from tiltmeter.studio.pages import StudioPage, data, login, new_run, review, runs
from tiltmeter.studio.project_threads import ProjectThreads
from tiltmeter.studio.request_guard import RequestGuard
from tiltmeter.studio.reviewer_accounts import get_session_key
from tiltmeter.studio.sessions import Session, Sessions
from tiltmeter.studio.studio_config import StudioConfig
from tiltmeter.studio.studio_workspace import StudioWorkspace

_LOG = logging.getLogger(__name__)

PAGES: tuple[StudioPage, ...] = (runs.STUDIO_PAGE, new_run.STUDIO_PAGE, data.STUDIO_PAGE, review.STUDIO_PAGE)
# Of a request without a file, in bytes. A route for files has its own limit.
_LARGEST = 1_000_000
# The style sheet of the reports is also that of the studio.
_STATIC = {
    **{str(path.name): path for path in (files("tiltmeter.studio") / "static").iterdir()},
    "report.css": files("tiltmeter.reports") / "templates" / "report.css",
}


class Studio:
    """What the rooms share: settings, workspace, sessions."""

    def __init__(self, config: StudioConfig) -> None:
        self.config = config
        self.workspace = StudioWorkspace(config.folder)
        self.sessions = Sessions(self.workspace.state)
        self.attempts = LoginAttempts()
        self.workbench = ProjectThreads()
        self.jobs: JobQueue = JobQueue(self.workspace, config.jobs)
        self.rooms: Sequence[StudioPage] = [room for room in PAGES if room.shared or not config.share]

    def is_valid(self, session: Session) -> bool:
        """Whether a reviewer still has the password by which they were let in."""
        try:
            return bool(session.key) and session.key == get_session_key(self.workspace.folder, session.name)
        except TiltmeterError as error:
            _LOG.warning("Nobody is let in: %s", error)
            return False


def make_app(studio: Studio) -> ASGIApp:
    """The application behind its guard; in requests, `app.state.studio` is the studio."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        with ExitStack() as stack:
            for room in studio.rooms:
                stack.enter_context(room.running(studio))
            yield

    app = Starlette(
        routes=[
            Route("/", _redirect_home),
            Route("/start", _exchange_token),
            Route("/logout", _log_out, methods=["POST"]),
            Route("/static/{name}", _serve_static),
            *(login.ROUTES if studio.config.share else ()),
            *(route for room in studio.rooms for route in room.routes),
        ],
        exception_handlers={
            TiltmeterError: _render_error,
            OSError: _reject_long_name,
            ClientDisconnect: _answer_disconnected,
            HTTPException: _render_http_error,
            Exception: _render_failure,
        },
        lifespan=lifespan,
        max_body_size=_LARGEST,
    )
    app.state.studio = studio
    # Outermost, so that errors have its headers, too.
    overviews = frozenset(room.path for room in studio.rooms)
    return RequestGuard(app, studio.config, studio.sessions, studio.is_valid, overviews)


def _redirect_home(request: Request) -> Response:
    rooms = responses.get_studio(request).rooms
    if not rooms:
        raise HTTPException(404)
    return responses.redirect(request, rooms[0].path)


def _exchange_token(request: Request) -> Response:
    """Exchange the token of the start for a cookie."""
    studio = responses.get_studio(request)
    if studio.config.share or not studio.sessions.is_start_token(request.query_params.get("token", "")):
        return Response("This token is not the one of this start; open the address that was printed.\n", 403)
    return responses.set_session(request, responses.redirect(request, "/"), studio.sessions.new("owner"))


def _log_out(request: Request) -> Response:
    """End the session, also for who has a copy of its cookie."""
    studio = responses.get_studio(request)
    studio.sessions.end(responses.get_session(request))
    response = responses.redirect(request, "/login" if studio.config.share else "/")
    return responses.set_session(request, response, studio.sessions.new("guest"))


def _serve_static(request: Request) -> Response:
    found = _STATIC.get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    response = FileResponse(Path(str(found)))
    response.headers["Cache-Control"] = "no-cache"
    return response


def _render_error(request: Request, error: Exception) -> Response:
    # Where the sentence is about a command, there is another one for pages.
    return responses.render_error(request, str(getattr(error, "on_page", error)))


def _reject_long_name(request: Request, error: Exception) -> Response:
    """For a name in a request that no file can have; other errors of files are faults of ours."""
    if not isinstance(error, OSError) or error.errno != errno.ENAMETOOLONG:
        raise error
    return responses.render_error(
        request, "A name in this request is too long for a file or folder; give a shorter one."
    )


def _answer_disconnected(_request: Request, _error: Exception) -> Response:
    """For a client that went away, or was too slow, before the request was complete; nobody reads the answer."""
    return Response(status_code=400)


def _render_http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentences = {404: "There is no such page.", 405: "The studio has no such request.", 413: "This is too large."}
    return responses.render_error(request, sentences.get(status, str(error)), status)


def _render_failure(request: Request, error: Exception) -> Response:
    """Of a fault of ours; the terminal has the traceback, the page only its name."""
    return responses.render_error(request, f"This failed ({type(error).__name__}); the terminal says more.", 500)
