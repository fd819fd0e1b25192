"""Security checks for all requests, and security headers for all responses."""

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
# The Content-Security-Policy of reports that are shown in a frame; each report contains its own, stricter policy.
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
# Paths that can be opened without a session, and paths that users can open before they log in.
_OPEN = ("/static/", "/start")
_FOR_GUESTS = ("/login",)
# Links on other sites may lead only to these paths and to the pages in the navigation.
_ENTRIES = frozenset({"/", "/start", "/login"})
# The response if a link on another site leads to any other path.
_FOREIGN_LINK = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Tiltmeter</title>'
    '<p>This link comes from another site. <a href="/">Open the studio.</a></p></html>'
)
_LOG_IN_AGAIN = (
    'You are no longer logged in. <a href="/login" target="_blank" rel="noopener">Log in in another tab</a>, then send '
    "the form again; your text is still on this page."
)
# Paths that reviewers can open in a shared studio.
_FOR_REVIEWERS = ("/review", "/login", "/logout")


class RequestGuard:
    """Middleware that checks the Host and Origin headers, the cookie, the role and the CSRF token of each request."""

    def __init__(
        self,
        app: ASGIApp,
        config: StudioConfig,
        sessions: Sessions,
        is_valid: Callable[[Session], bool],
        overviews: AbstractSet[str],
    ) -> None:
        """Wrap `app`; `is_valid` checks a reviewer's session; links on other sites may lead to paths in `overviews`."""
        self._app = app
        self._config = config
        self._sessions = sessions
        self._is_valid = is_valid
        self._entries = _ENTRIES | overviews

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request; reject it or pass it to the application."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "Websockets are not supported."})
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

        refusal = self._find_refusal(scope)
        await (refusal or self._app)(scope, receive, with_headers)

    def _find_refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        if headers.get("host", "").lower() not in self._config.hosts or len(headers.getlist("host")) != 1:
            return _build_refusal(421, "Wrong address; open the address that `tiltmeter studio` printed.")
        if method not in {*_SAFE, "POST"}:
            return _build_refusal(405, "Method not allowed.")
        origin = headers.get("origin")
        if origin is not None and origin not in self._config.origins:
            return _build_refusal(403, "The request comes from another site.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            if headers.get("sec-fetch-mode") != "navigate" or method not in _SAFE:
                return _build_refusal(403, "The request comes from another site.")
            if path not in self._entries:
                return HTMLResponse(_FOREIGN_LINK, 403)
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
                return _build_refusal(403, "The request has no Origin header.", is_htmx=is_htmx)
            if session is None or not self._sessions.is_csrf_token(session, headers.get(CSRF_HEADER, "")):
                return _build_refusal(403, "The page is outdated; reload it.", is_htmx=is_htmx)
        if path in _FOR_GUESTS:
            return None
        if session is None or not self._is_allowed(session.role, path):
            return _build_refusal(
                401 if session is None else 403,
                "Open the address that `tiltmeter studio` printed; it contains the token that you need."
                if not self._config.share
                else "Reviewers have no access to this page.",
                is_htmx=is_htmx,
            )
        return None

    def _is_allowed(self, role: Role, path: str) -> bool:
        if self._config.share:
            is_theirs = any(path == front or path.startswith(f"{front}/") for front in _FOR_REVIEWERS)
            return role == "reviewer" and (path == "/" or is_theirs)
        return role == "owner"

    def _read_session(self, headers: Headers) -> Session | None:
        cookie = cookie_parser(headers.get("cookie", "")).get(self._config.cookie_name)
        session = self._sessions.read_cookie(cookie) if cookie else None
        return None if session is not None and session.role == "reviewer" and not self._is_valid(session) else session


def _build_refusal(status: int, sentence: str, *, is_htmx: bool = False) -> Response:
    """Return an error response; `sentence` may contain HTML, so it must never contain text from users."""
    return (
        HTMLResponse(f'<p class="note">{sentence}</p>', status)
        if is_htmx
        else PlainTextResponse(f"{sentence}\n", status)
    )


def _redirect_to_login(method: str, *, is_htmx: bool) -> Response:
    """Return a response that redirects to the login page.

    If the request sends a form, return an error message instead, so that the text in the form is not lost.
    """
    if method in _SAFE:
        if is_htmx:
            return Response(status_code=204, headers={"HX-Redirect": "/login"})
        return Response(status_code=303, headers={"Location": "/login"})
    return _build_refusal(401, _LOG_IN_AGAIN if is_htmx else "You are no longer logged in.", is_htmx=is_htmx)
