"""HTML for the rooms: whole pages, fragments for htmx, and errors."""

import os
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tiltmeter.errors import UsageError
from tiltmeter.reports.page_templates import load_template
from tiltmeter.studio.sessions import Session

if TYPE_CHECKING:
    from tiltmeter.studio.app import Studio

_PACKAGE = "tiltmeter.studio"


def get_studio(request: Request) -> "Studio":
    """The studio that answers a request."""
    found: Studio = request.app.state.studio
    return found


def get_session(request: Request) -> Session:
    """Who sent a request."""
    session: Session | None = request.scope["state"]["session"]
    assert session is not None, "the guard lets nobody in without one"
    return session


def parse_whole_number(text: str, what: str, most: int = 1_000_000_000) -> int:
    """A number of a request; a UsageError that says what is none, or too large."""
    if not text.isascii() or not text.isdecimal() or len(text) > 12 or int(text) > most:
        raise UsageError(f"{what} should be a whole number from 0 to {most:,}.")
    return int(text)


def is_htmx(request: Request) -> bool:
    """Whether a request wants a fragment."""
    return request.headers.get("hx-request") == "true"


def render_page(
    request: Request, template: str, status: int = 200, package: str = _PACKAGE, /, **values: Any
) -> HTMLResponse:
    """A whole page; its template, from `templates/` of a package, extends `base.html.jinja`."""
    return render_fragment(request, template, status, package, **values)


def render_fragment(
    request: Request, template: str, status: int = 200, package: str = _PACKAGE, /, **values: Any
) -> HTMLResponse:
    """A piece of a page."""
    studio, session = get_studio(request), request.scope["state"].get("session")
    html = load_template(template, package, _PACKAGE).render(
        csrf=studio.sessions.compute_csrf_token(session) if session else "",
        session=session,
        pages=studio.pages,
        share=studio.config.share,
        path=request.url.path,
        **values,
    )
    return HTMLResponse(html, status)


def hide_paths(request: Request, sentence: str) -> str:
    """A sentence as this person may see it: reviewers elsewhere see paths from the workspace on."""
    studio = get_studio(request)
    if not studio.config.share:
        return sentence
    folder = str(studio.workspace.folder)
    return sentence.replace(f"{folder}{os.sep}", "").replace(folder, "the workspace")


def render_error(request: Request, sentence: str, status: int = 400) -> Response:
    """A sentence in the page's message line, or as a page of its own."""
    sentence = hide_paths(request, sentence)
    if is_htmx(request):
        return render_fragment(request, "error_message.html.jinja", status, sentence=sentence)
    return render_page(request, "error.html.jinja", status, sentence=sentence)


def redirect(request: Request, path: str) -> Response:
    """Have the browser open another page of the studio."""
    if is_htmx(request):
        return Response(status_code=204, headers={"HX-Redirect": path})
    return RedirectResponse(path, 303)


def set_session(request: Request, response: Response, session: Session) -> Response:
    """Have the browser keep a session."""
    studio = get_studio(request)
    response.set_cookie(
        studio.config.cookie,
        studio.sessions.cookie(session),
        max_age=studio.sessions.get_lifetime(session),
        httponly=True,
        samesite="lax",
        secure=studio.config.secure,
        path="/",
    )
    return response
