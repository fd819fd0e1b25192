"""What every request has to pass before a room answers it, and the headers of every answer."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tiltmeter.studio.sessions import Role, Session, Sessions
from tiltmeter.studio.studio_config import StudioConfig

CSRF_HEADER = "X-CSRF-Token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Of pages that the studio shows in a frame: reports, which bring their own policy for scripts and styles.
FRAMED_POLICY = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
FRAMED_POLICY += "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
_SAFE = {"GET", "HEAD"}
# Paths that need no session, and paths that a guest may use.
_OPEN = ("/static/", "/start")
_FOR_GUESTS = ("/login",)
# Where a link on another site may lead, with the overviews of the rooms. Other pages are opened from the studio itself.
_ENTRIES = frozenset({"/", "/start", "/login"})
# What a link on another site gets instead of such a page.
_ELSEWHERE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Tiltmeter</title>'
    '<p>This link comes from another site. <a href="/">Open the studio itself.</a></p></html>'
)
_LOG_IN_AGAIN = (
    'You are no longer logged in. <a href="/login" target="_blank" rel="noopener">Log in in another tab</a>, then send '
    "this again; what you wrote is still here."
)
# Where a reviewer may go.
_FOR_REVIEWERS = ("/review", "/login", "/logout")


class RequestGuard:
    """Checks Host, Origin, cookie, role and CSRF token."""

    def __init__(
        self,
        app: ASGIApp,
        config: StudioConfig,
        sessions: Sessions,
        is_valid: Callable[[Session], bool],
        overviews: AbstractSet[str],
    ) -> None:
        """`is_valid` says whether a reviewer's session is still good, `overviews` are pages that change nothing."""
        self._app = app
        self._config = config
        self._sessions = sessions
        self._is_valid = is_valid
        self._entries = _ENTRIES | overviews

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "The studio has no websockets."})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        if headers.get("host", "").lower() not in self._config.hosts or len(headers.getlist("host")) != 1:
            return _build_refusal(421, "The studio does not answer at this address; use the one that was printed.")
        if method not in {*_SAFE, "POST"}:
            return _build_refusal(405, "The studio has no such request.")
        origin = headers.get("origin")
        if origin is not None and origin not in self._config.origins:
            return _build_refusal(403, "The request comes from another page.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            if headers.get("sec-fetch-mode") != "navigate" or method not in _SAFE:
                return _build_refusal(403, "The request comes from another page.")
            if path not in self._entries:
                return HTMLResponse(_ELSEWHERE, 403)
        if path.startswith(_OPEN) and method in _SAFE:
            return None
        session = self._read_session(headers)
        scope.setdefault("state", {})["session"] = session
        is_htmx = headers.get("hx-request") == "true"
        is_nobody = session is None or session.role == "guest"
        if self._config.share and is_nobody and path not in _FOR_GUESTS and (method in _SAFE or origin is not None):
            return _redirect_to_login(method, is_htmx=is_htmx)
        if method == "POST":
            if origin is None:
                return _build_refusal(403, "The request does not say which page it comes from.", is_htmx=is_htmx)
            if session is None or not self._sessions.is_csrf_token(session, headers.get(CSRF_HEADER, "")):
                return _build_refusal(403, "The page is too old; load it again.", is_htmx=is_htmx)
        if path in _FOR_GUESTS:
            return None
        if session is None or not self._is_allowed(session.role, path):
            return _build_refusal(
                401 if session is None else 403,
                "Open the address that `tiltmeter studio` printed at its start; it has a token that lets you in."
                if not self._config.share
                else "This is not for reviewers.",
                is_htmx=is_htmx,
            )
        return None

    def _is_allowed(self, role: Role, path: str) -> bool:
        if self._config.share:
            is_theirs = any(path == front or path.startswith(f"{front}/") for front in _FOR_REVIEWERS)
            return role == "reviewer" and (path == "/" or is_theirs)
        return role == "owner"

    def _read_session(self, headers: Headers) -> Session | None:
        found = cookie_parser(headers.get("cookie", "")).get(self._config.cookie)
        session = self._sessions.read(found) if found else None
        return None if session is not None and session.role == "reviewer" and not self._is_valid(session) else session


def _build_refusal(status: int, sentence: str, *, is_htmx: bool = False) -> Response:
    """A refusal; `sentence` is one of ours, for the message line of a page it may have markup."""
    return (
        HTMLResponse(f'<p class="note">{sentence}</p>', status)
        if is_htmx
        else PlainTextResponse(f"{sentence}\n", status)
    )


def _redirect_to_login(method: str, *, is_htmx: bool) -> Response:
    """Where somebody goes whose session has ended; a page on which something was written stays as it is."""
    if method in _SAFE:
        if is_htmx:
            return Response(status_code=204, headers={"HX-Redirect": "/login"})
        return Response(status_code=303, headers={"Location": "/login"})
    return _build_refusal(401, _LOG_IN_AGAIN if is_htmx else "You are no longer logged in.", is_htmx=is_htmx)
