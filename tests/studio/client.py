"""Clients of a studio in the same process, without a socket."""

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from tiltmeter.studio.app import Studio, make_app
from tiltmeter.studio.request_guard import CSRF_HEADER
from tiltmeter.studio.reviewer_accounts import get_session_key
from tiltmeter.studio.sessions import Role
from tiltmeter.studio.studio_config import StudioConfig, build_local_config

PORT = 8765


def studio_on(folder: Path, config: StudioConfig | None = None) -> Studio:
    return Studio(config or build_local_config(folder, PORT))


def client_of(studio: Studio, role: Role | None = "owner", name: str = "") -> TestClient:
    """Return a client that is logged in with this role (None: not at all); `with` starts background work."""
    origin = next(origin for origin in studio.config.origins if "127" in origin or studio.config.share)
    client = TestClient(make_app(studio), base_url=origin, follow_redirects=False, raise_server_exceptions=False)
    if role is not None:
        key = get_session_key(studio.workspace.folder, name) if role == "reviewer" else ""
        session = studio.sessions.create_session(role, name, key)
        client.cookies.set(studio.config.cookie_name, studio.sessions.build_cookie(session))
        client.headers.update({"Origin": origin, CSRF_HEADER: studio.sessions.compute_csrf_token(session)})
    return client


def htmx(client: TestClient, path: str, data: dict[str, Any] | None = None, **options: Any) -> Any:
    """Send a POST request like htmx."""
    return client.post(path, data=data or {}, headers={"HX-Request": "true"}, **options)
