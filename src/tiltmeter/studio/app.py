"""The web application of the studio, built with Starlette."""

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
from tiltmeter.studio.pages import StudioPage, list_studio_pages, login
from tiltmeter.studio.project_threads import ProjectThreads
from tiltmeter.studio.request_guard import RequestGuard
from tiltmeter.studio.reviewer_accounts import get_session_key
from tiltmeter.studio.sessions import Session, Sessions
from tiltmeter.studio.studio_config import StudioConfig
from tiltmeter.studio.studio_workspace import StudioWorkspace

_LOG = logging.getLogger(__name__)

# Maximum size of a request in bytes; the route for uploaded files has its own limit.
_LARGEST = 1_000_000
# Static files of the web application by name; the studio also uses the style sheet of the reports.
_STATIC = {
    **{str(path.name): path for path in (files("tiltmeter.studio") / "static").iterdir()},
    "report.css": files("tiltmeter.reports") / "templates" / "report.css",
}


class Studio:
    """The objects that all pages of a studio share: settings, workspace, sessions, projects and jobs."""

    def __init__(self, config: StudioConfig) -> None:
        self.config = config
        self.workspace = StudioWorkspace(config.folder)
        self.sessions = Sessions(self.workspace.state)
        self.attempts = LoginAttempts()
        self.projects = ProjectThreads()
        self.jobs: JobQueue = JobQueue(self.workspace, config.jobs)
        self.pages: Sequence[StudioPage] = [page for page in list_studio_pages() if page.shared or not config.share]

    def is_valid_session(self, session: Session) -> bool:
        """Return whether the session of a reviewer is valid: the password has not changed since the login."""
        try:
            return bool(session.key) and session.key == get_session_key(self.workspace.folder, session.name)
        except TiltmeterError as error:
            _LOG.warning("Reviewers cannot log in: %s", error)
            return False


def make_app(studio: Studio) -> ASGIApp:
    """Return the web application of a studio, wrapped in the security checks of `RequestGuard`."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        with ExitStack() as stack:
            for page in studio.pages:
                stack.enter_context(page.running(studio))
            yield

    app = Starlette(
        routes=[
            Route("/", _redirect_home),
            Route("/start", _exchange_token),
            Route("/logout", _log_out, methods=["POST"]),
            Route("/static/{name}", _serve_static),
            *(login.ROUTES if studio.config.share else ()),
            *(route for page in studio.pages for route in page.routes),
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
    # `RequestGuard` wraps everything else, so that error responses also have the security headers.
    overviews = frozenset(page.path for page in studio.pages)
    return RequestGuard(app, studio.config, studio.sessions, studio.is_valid_session, overviews)


def _redirect_home(request: Request) -> Response:
    pages = responses.get_studio(request).pages
    if not pages:
        raise HTTPException(404)
    return responses.redirect(request, pages[0].path)


def _exchange_token(request: Request) -> Response:
    """Check the start token in the address, and set the session cookie of the owner."""
    studio = responses.get_studio(request)
    if studio.config.share or not studio.sessions.is_start_token(request.query_params.get("token", "")):
        return Response("Wrong or outdated token; open the address that `tiltmeter studio` printed.\n", 403)
    return responses.set_session(request, responses.redirect(request, "/"), studio.sessions.create_session("owner"))


def _log_out(request: Request) -> Response:
    """End the session of the user, so that copies of the session cookie are no longer accepted."""
    studio = responses.get_studio(request)
    studio.sessions.end_session(responses.get_session(request))
    response = responses.redirect(request, "/login" if studio.config.share else "/")
    return responses.set_session(request, response, studio.sessions.create_session("guest"))


def _serve_static(request: Request) -> Response:
    file = _STATIC.get(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    response = FileResponse(Path(str(file)))
    response.headers["Cache-Control"] = "no-cache"
    return response


def _render_error(request: Request, error: Exception) -> Response:
    # An error whose message names a command has another message for web pages, `on_page`.
    return responses.render_error(request, str(getattr(error, "on_page", error)))


def _reject_long_name(request: Request, error: Exception) -> Response:
    """Return an error page if a name is too long for a file or folder; raise any other file error again."""
    if not isinstance(error, OSError) or error.errno != errno.ENAMETOOLONG:
        raise error
    return responses.render_error(request, "A name is too long for a file or folder; choose a shorter one.")


def _answer_disconnected(_request: Request, _error: Exception) -> Response:
    """Return a response for a client that disconnected before its request was complete."""
    return Response(status_code=400)


def _render_http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentences = {404: "Page not found.", 405: "Method not allowed.", 413: "The request is too large."}
    return responses.render_error(request, sentences.get(status, str(error)), status)


def _render_failure(request: Request, error: Exception) -> Response:
    """Return an error page after an unexpected error.

    The page shows the type of the error, and the terminal in which the studio runs shows the traceback.
    """
    return responses.render_error(
        request,
        f"Unexpected error ({type(error).__name__}); the terminal in which the studio runs shows the details.",
        500,
    )
