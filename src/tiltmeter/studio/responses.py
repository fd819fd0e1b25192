"""HTML responses: whole pages, fragments for htmx, and errors."""

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
    """Return the studio of a request."""
    studio: Studio = request.app.state.studio
    return studio


def get_session(request: Request) -> Session:
    """Return the session of a request."""
    session: Session | None = request.scope["state"]["session"]
    assert session is not None, "the guard rejects requests without a session"
    return session


def parse_whole_number(text: str, name: str, most: int = 1_000_000_000) -> int:
    """Parse a whole number; raise a UsageError with its name if it is invalid or too large."""
    if not text.isascii() or not text.isdecimal() or len(text) > 12 or int(text) > most:
        raise UsageError(f"{name} must be a whole number from 0 to {most:,}.")
    return int(text)


def is_htmx(request: Request) -> bool:
    """Return whether a request expects a fragment."""
    return request.headers.get("hx-request") == "true"


def render_page(
    request: Request, template: str, status: int = 200, package: str = _PACKAGE, /, **values: Any
) -> HTMLResponse:
    """Render a whole page; its template, from `templates/` of a package, extends `base.html.jinja`."""
    return render_fragment(request, template, status, package, **values)


def render_fragment(
    request: Request, template: str, status: int = 200, package: str = _PACKAGE, /, **values: Any
) -> HTMLResponse:
    """Render a part of a page."""
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
    """Return a sentence without paths outside the workspace if the studio is shared."""
    studio = get_studio(request)
    if not studio.config.share:
        return sentence
    folder = str(studio.workspace.folder)
    return sentence.replace(f"{folder}{os.sep}", "").replace(folder, "the workspace")


def render_error(request: Request, sentence: str, status: int = 400) -> Response:
    """Render an error in the message line of the page, or as a whole page."""
    sentence = hide_paths(request, sentence)
    if is_htmx(request):
        return render_fragment(request, "error_message.html.jinja", status, sentence=sentence)
    return render_page(request, "error.html.jinja", status, sentence=sentence)


def redirect(request: Request, path: str) -> Response:
    """Redirect the browser to another page of the studio."""
    if is_htmx(request):
        return Response(status_code=204, headers={"HX-Redirect": path})
    return RedirectResponse(path, 303)


def set_session(request: Request, response: Response, session: Session) -> Response:
    """Set the cookie of a session."""
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
