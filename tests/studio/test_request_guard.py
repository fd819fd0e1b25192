"""Requests that must fail: without token, from other sites, outside the workspace, or too large."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.routing import Route
from starlette.websockets import WebSocketDisconnect

from tests.studio.client import client_of, htmx, studio_on
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.studio.app import Studio
from tiltmeter.studio.pages.data import LARGEST_FILE
from tiltmeter.studio.request_guard import CSRF_HEADER
from tiltmeter.studio.reviewer_accounts import add_studio_reviewer
from tiltmeter.studio.run_index import RunIndex
from tiltmeter.studio.studio_config import build_shared_config
from tiltmeter.studio.studio_workspace import StudioWorkspace

TRAVERSALS = [
    "..",
    "../secret.jsonl",
    "runs/../../secret.jsonl",
    "/etc/passwd",
    "//etc/passwd",
    "..\\secret.jsonl",
    "C:\\secret.jsonl",
    "C:secret.jsonl",
    ".tiltmeter-studio/secret",
    "runs/.hidden.jsonl",
    "runs//a.jsonl",
    "a.jsonl/",
    "a.jsonl\0",
    "link/secret.jsonl",
    "link.jsonl",
    "",
]


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret.jsonl").write_text("secret", encoding="utf-8")
    (folder / "link").symlink_to(tmp_path)
    (folder / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    return studio_on(folder)


@pytest.mark.parametrize("path", ["/", "/data", "/data/projects", "/data/sets/starter", "/data/file?file=a.jsonl"])
def test_pages_need_a_token(studio: Studio, path: str) -> None:
    with client_of(studio, None) as client:
        found = client.get(path)
        assert found.status_code == 401
        assert "token" in found.text
        assert client_of(studio, "guest").get(path).status_code == 403
        client.cookies.set(studio.config.cookie_name, "forged")
        assert client.get(path).status_code == 401


@pytest.mark.parametrize("token", ["", "x", "é", "0" * 10_000])
def test_wrong_tokens_are_rejected(studio: Studio, token: str) -> None:
    found = client_of(studio, None).get("/start", params={"token": token})
    assert found.status_code == 403
    assert "set-cookie" not in found.headers


def test_the_token_becomes_a_cookie(studio: Studio) -> None:
    client = client_of(studio, None)
    found = client.get("/start", params={"token": studio.sessions.start_token})
    assert found.status_code == 303
    assert "HttpOnly" in found.headers["set-cookie"]
    assert "SameSite=lax" in found.headers["set-cookie"]
    assert client.get("/data").status_code == 200


def test_cookies_of_another_studio_do_not_count(studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = studio_on(tmp_path / "other")
    client = client_of(studio, None)
    client.cookies.set(studio.config.cookie_name, other.sessions.build_cookie(other.sessions.create_session("owner")))
    assert client.get("/data").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:8765", "127.0.0.1:8765.evil.example"]
)
def test_other_hosts_are_rejected(studio: Studio, host: str) -> None:
    found = client_of(studio).get("/data", headers={"Host": host})
    assert found.status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8765", "http://127.0.0.1:1", ""])
def test_other_pages_cannot_post(studio: Studio, origin: str) -> None:
    found = client_of(studio).post("/data/check", headers={"Origin": origin})
    assert found.status_code == 403


def test_a_post_needs_an_origin_and_a_csrf_token(studio: Studio) -> None:
    client = client_of(studio)
    other = studio.sessions.compute_csrf_token(studio.sessions.create_session("owner"))
    for token in ("", "x", "ü", other):
        assert client.post("/data/check", headers={CSRF_HEADER: token.encode()}).status_code == 403
    del client.headers["Origin"]
    assert client.post("/data/check").status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_rejected(studio: Studio, method: str) -> None:
    assert client_of(studio).request(method, "/data").status_code == 405


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_pages_cannot_load_parts_of_this_one(studio: Studio, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert client_of(studio).get("/data", headers=headers).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_on_another_site_leads_to_the_overviews_only(studio: Studio, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    with client_of(studio, "owner", "Ana") as client:
        assert client.get("/", headers=headers).status_code == 303
        assert client.get("/start", headers=headers, params={"token": "x"}).status_code == 403
        for page in studio.pages:
            assert client.get(page.path, headers=headers).status_code == 200
            for route in page.routes:
                if isinstance(route, Route) and route.path != page.path and "GET" in (route.methods or ()):
                    found = client.get(route.path, headers=headers)
                    assert (found.status_code, "Open the studio" in found.text) == (403, True), route.path
        assert client.post("/logout", headers=headers).status_code == 403
    shared = studio_on(studio.workspace.folder, build_shared_config(studio.workspace.folder, "review.example.org"))
    assert client_of(shared, None).get("/login", headers=headers).status_code == 200


def test_websockets_are_closed(studio: Studio) -> None:
    with pytest.raises(WebSocketDisconnect) as found, client_of(studio).websocket_connect("/new-run/events"):
        pass
    assert found.value.code == 1008


@pytest.mark.parametrize("name", TRAVERSALS)
def test_no_file_outside_the_workspace_is_read(studio: Studio, name: str) -> None:
    found = client_of(studio).get("/data/file", params={"file": name})
    assert found.status_code == 400
    assert "secret" not in found.text.replace("secret.jsonl", "").replace("-studio/secret", "")
    for function in (
        RunIndex(studio.workspace).get_run,
        studio.workspace.get_project_folder,
        studio.workspace.find_data_file,
    ):
        with pytest.raises(UsageError):
            function(name)


@pytest.mark.parametrize("name", ["../x", "a/b", ".x", "x.", "x\ny", "", "a" * 200, "a\0", "x "])
def test_no_run_is_written_outside_the_runs_folder(studio: Studio, name: str) -> None:
    with pytest.raises(UsageError):
        studio.workspace.get_new_run(name)


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/guard.py", "/static/secret", "/static/"]
)
def test_only_static_files_are_served_without_a_token(studio: Studio, path: str) -> None:
    assert client_of(studio, None).get(path).status_code in (401, 404)


def test_script_in_parameters_is_escaped(studio: Studio) -> None:
    script = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
    client = client_of(studio)
    for path in (f"/data/sets/{quote(script)}", f"/data/file?file={quote(script)}", f"/{quote(script)}"):
        found = client.get(path)
        assert found.status_code in (400, 404)
        assert "<script>alert" not in found.text
        assert "<img" not in found.text


@pytest.mark.parametrize("size", [1_000_001, LARGEST_FILE + 1])
def test_large_bodies_are_rejected(studio: Studio, size: int) -> None:
    body: dict[str, Any] = (
        {"files": {"file": ("a.jsonl", b"x" * size)}} if size > LARGEST_FILE else {"data": {"x": "y" * size}}
    )
    path = "/data/check" if size > LARGEST_FILE else "/logout"
    assert htmx(client_of(studio), path, **body).status_code == 413


def test_every_answer_has_the_security_headers(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.studio.pages.data.get_dataset", lambda _name: 1 / 0)
    client = client_of(studio)
    answers = [client.get(path) for path in ("/data", "/nothing", "/data/sets/starter", "/static/studio.css")]
    answers.append(client_of(studio, None).get("/data"))
    assert [answer.status_code for answer in answers] == [200, 404, 500, 200, 401]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "ZeroDivisionError" in answers[2].text
    assert "Traceback" not in answers[2].text


def test_a_shared_studio_serves_only_the_pages_for_reviewers(tmp_path: Path) -> None:
    shared = studio_on(tmp_path, build_shared_config(tmp_path, "review.example.org"))
    add_studio_reviewer(tmp_path, "Ana", "a long word")
    reviewer = client_of(shared, "reviewer", "Ana")
    for path in ("/data", "/runs", "/new-run", "/data/file?file=a.jsonl"):
        assert reviewer.get(path).status_code == 403
        nobody = client_of(shared, None).get(path)
        assert (nobody.status_code, nobody.headers["location"]) == (303, "/login")
    assert client_of(shared, "owner").get("/data").status_code == 403
    token = client_of(shared, None).get("/start", params={"token": shared.sessions.start_token})
    assert token.status_code == 403


def test_the_secret_is_readable_by_its_owner_only_and_survives_a_restart(tmp_path: Path) -> None:
    studio = studio_on(tmp_path)
    secret = tmp_path / ".tiltmeter-studio" / "secret"
    assert secret.stat().st_mode & 0o077 == 0
    cookie = studio.sessions.build_cookie(studio.sessions.create_session("owner"))
    assert studio_on(tmp_path).sessions.read_cookie(cookie) is not None


def test_the_files_of_the_studio_are_ignored_by_git(studio: Studio) -> None:
    assert (studio.workspace.state / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_an_ended_session_is_rejected(studio: Studio) -> None:
    client, copied = client_of(studio), client_of(studio, None)
    for cookie in client.cookies.jar:
        copied.cookies.set(cookie.name, str(cookie.value))
    assert copied.get("/data").status_code == 200
    assert htmx(client, "/logout").headers["hx-redirect"] == "/"
    assert client.get("/data").status_code == 403
    assert copied.get("/data").status_code == 401
    again = studio_on(studio.workspace.folder)
    for cookie in copied.cookies.jar:
        assert again.sessions.read_cookie(str(cookie.value)) is None
    assert (studio.workspace.state / "ended-sessions.json").stat().st_mode & 0o077 == 0


def test_a_workspace_must_be_a_folder(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, "not a folder"):
        StudioWorkspace(tmp_path / "missing")


def test_cookies_of_other_programs_are_ignored(studio: Studio) -> None:
    client = client_of(studio)
    (cookie,) = client.cookies.jar
    del client.cookies[cookie.name]
    odd = f'theme={{"a": 1}}; other="; {cookie.name}={cookie.value}'
    assert client.get("/data", headers={"Cookie": odd}).status_code == 200


def test_links_inside_runs_and_projects_are_not_followed(studio: Studio, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("project.toml", "project.sqlite", "manifest.json"):
        (outside / name).write_text("", encoding="utf-8")
    project, run = studio.workspace.folder / "project", studio.workspace.folder / "run"
    project.mkdir()
    run.mkdir()
    (project / "project.toml").write_text("", encoding="utf-8")
    (project / "project.sqlite").symlink_to(outside / "project.sqlite")
    (run / "manifest.json").symlink_to(outside / "manifest.json")
    with raises_mentioning(UsageError, "no project"):
        studio.workspace.get_project_folder("project")
    with raises_mentioning(UsageError, "cannot be opened"):
        RunIndex(studio.workspace).get_finished_run("run")
    (studio.workspace.folder / "runs").symlink_to(outside)
    with raises_mentioning(UsageError, "outside the workspace"):
        studio.workspace.get_new_run("mine")


def test_names_that_are_not_unicode_are_left_out(studio: Studio) -> None:
    folder = studio.workspace.folder
    try:
        (folder / "caf\udce9.jsonl").write_text("", encoding="utf-8")
    except (OSError, UnicodeError):
        pytest.skip("this file system has names in Unicode only")
    (folder / ".hidden.jsonl").write_text("", encoding="utf-8")
    (folder / "mine.jsonl").write_text("", encoding="utf-8")
    assert [path.name for path in studio.workspace.list_data_files() if not path.is_symlink()] == ["mine.jsonl"]
    assert client_of(studio).get("/data").status_code == 200
