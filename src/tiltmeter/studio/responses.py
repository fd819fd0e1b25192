"""Functions that build HTML responses: whole pages, parts of pages (for htmx), errors and redirects."""

import os
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tiltmeter.errors import UsageError
from tiltmeter.reports.page_templates import load_template
from tiltmeter.studio.interface_texts import ENGLISH, load_texts
from tiltmeter.studio.sessions import Session

if TYPE_CHECKING:
    from tiltmeter.studio.app import Studio

_PACKAGE = "tiltmeter.studio"


def get_studio(request: Request) -> "Studio":
    """Return the studio that handles a request."""
    studio: Studio = request.app.state.studio
    return studio


def get_session(request: Request) -> Session:
    """Return the session of a request."""
    session: Session | None = request.scope["state"]["session"]
    assert session is not None, "the guard rejects requests without a session"
    return session


def parse_whole_number(text: str, name: str, most: int = 1_000_000_000) -> int:
    """Return a text as a whole number from 0 to `most`; otherwise raise a UsageError, in which the number is `name`."""
    if not text.isascii() or not text.isdecimal() or len(text) > 12 or int(text) > most:
        raise UsageError(f"{name} must be a whole number from 0 to {most:,}.")
    return int(text)


def is_htmx(request: Request) -> bool:
    """Return whether the JavaScript library htmx sent the request; it expects only a part of a page as response."""
    return request.headers.get("hx-request") == "true"


def render_page(
    request: Request, template: str, status: int = 200, package: str = _PACKAGE, /, **values: Any
) -> HTMLResponse:
    """Render a whole page.

    The template is in the folder `templates` of `package`, and extends `base.html.jinja`.
    """
    return render_fragment(request, template, status, package, **values)


def render_fragment(
    request: Request, template: str, status: int = 200, package: str = _PACKAGE, /, **values: Any
) -> HTMLResponse:
    """Render a part of a page; the template is in the folder `templates` of `package`."""
    studio, session = get_studio(request), request.scope["state"].get("session")
    html = load_template(template, package, _PACKAGE).render(
        csrf=studio.sessions.compute_csrf_token(session) if session else "",
        session=session,
        pages=studio.pages,
        share=studio.config.share,
        path=request.url.path,
        **{"t": load_texts(ENGLISH), **values},
    )
    return HTMLResponse(html, status)


def hide_paths(request: Request, sentence: str) -> str:
    """In a shared studio, remove the path of the workspace folder from a sentence."""
    studio = get_studio(request)
    if not studio.config.share:
        return sentence
    folder = str(studio.workspace.folder)
    return sentence.replace(f"{folder}{os.sep}", "").replace(folder, "the workspace")


def render_error(request: Request, sentence: str, status: int = 400) -> Response:
    """Render an error: in the message line of the open page if htmx sent the request, otherwise as a whole page."""
    sentence = hide_paths(request, sentence)
    if is_htmx(request):
        return render_fragment(request, "error_message.html.jinja", status, sentence=sentence)
    return render_page(request, "error.html.jinja", status, sentence=sentence)


def redirect(request: Request, path: str) -> Response:
    """Return a response that redirects the browser to another page of the studio."""
    if is_htmx(request):
        return Response(status_code=204, headers={"HX-Redirect": path})
    return RedirectResponse(path, 303)


def set_session(request: Request, response: Response, session: Session) -> Response:
    """Set the session cookie in a response, and return the response."""
    studio = get_studio(request)
    response.set_cookie(
        studio.config.cookie_name,
        studio.sessions.build_cookie(session),
        max_age=studio.sessions.get_lifetime(session),
        httponly=True,
        samesite="lax",
        secure=studio.config.is_secure,
        path="/",
    )
    return response
