"""Logins of reviewers to a shared studio."""

import html
import io
import logging
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.studio.client import client_of, htmx, studio_on
from tests.studio.reviewing import csrf_of
from tests.support.messages import assert_mentions
from tiltmeter.cli import app
from tiltmeter.errors import UsageError
from tiltmeter.studio.login_attempts import BY_NAME
from tiltmeter.studio.request_guard import CSRF_HEADER
from tiltmeter.studio.reviewer_accounts import add_studio_reviewer, list_studio_reviewers, remove_studio_reviewer
from tiltmeter.studio.server import describe_sharing
from tiltmeter.studio.studio_config import build_shared_config, parse_port


@pytest.fixture
def client(tmp_path: Path) -> Any:
    add_studio_reviewer(tmp_path, "Ana", "a long word")
    shared = studio_on(tmp_path, build_shared_config(tmp_path, "review.example.org"))
    client = client_of(shared, None)
    token = csrf_of(client.get("/login").text)
    client.headers.update({"Origin": "https://review.example.org", CSRF_HEADER: token})
    return client


def test_a_login_sets_a_secure_cookie(client: Any, tmp_path: Path) -> None:
    found = htmx(client, "/login", {"name": "ana", "password": "a long word"})
    assert found.headers["hx-redirect"] == "/"
    assert "Secure" in found.headers["set-cookie"]
    assert client.get("/login").status_code == 303
    assert client.get("/data").status_code == 403
    remove_studio_reviewer(tmp_path, "Ana")
    assert client.get("/review").headers["location"] == "/login"


def test_a_form_can_be_sent_again_after_logging_in_in_another_tab(client: Any, tmp_path: Path) -> None:
    htmx(client, "/login", {"name": "Ana", "password": "a long word"})
    token = csrf_of(client.get("/review").text)
    client.headers.update({CSRF_HEADER: token})
    refused = "no project 'x'"
    assert refused in html.unescape(htmx(client, "/review/decide?project=x").text)
    client.cookies.clear()
    answer = htmx(client, "/review/decide?project=x")
    assert answer.status_code == 401
    assert '<a href="/login" target="_blank" rel="noopener">' in answer.text
    assert "still on this page" in answer.text
    part = client.get("/review/state?project=x", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["hx-redirect"]) == (204, "/login")
    assert client.get("/review/state?project=x").headers["location"] == "/login"
    # In another tab, with a new password.
    add_studio_reviewer(tmp_path, "Ana", "another word")
    client.headers.update({CSRF_HEADER: csrf_of(client.get("/login").text)})
    assert htmx(client, "/login", {"name": "Ana", "password": "another word"}).status_code == 204
    # The old page.
    client.headers.update({CSRF_HEADER: token})
    assert refused in html.unescape(htmx(client, "/review/decide?project=x").text)


def test_a_page_cannot_be_sent_as_somebody_else(client: Any, tmp_path: Path) -> None:
    add_studio_reviewer(tmp_path, "Eva", "a long word")
    htmx(client, "/login", {"name": "Ana", "password": "a long word"})
    token = csrf_of(client.get("/review").text)
    client.cookies.clear()
    client.headers.update({CSRF_HEADER: csrf_of(client.get("/login").text)})
    htmx(client, "/login", {"name": "Eva", "password": "a long word"})
    client.headers.update({CSRF_HEADER: token})
    answer = htmx(client, "/review/decide?project=x")
    assert (answer.status_code, "outdated" in answer.text) == (403, True)


def test_logging_out_ends_copies_of_the_cookie(client: Any) -> None:
    htmx(client, "/login", {"name": "Ana", "password": "a long word"})
    client.headers.update({CSRF_HEADER: csrf_of(client.get("/review").text)})
    copied = {cookie.name: cookie.value for cookie in client.cookies.jar}
    assert htmx(client, "/logout").headers["hx-redirect"] == "/login"
    client.cookies.clear()
    client.cookies.update(copied)
    assert client.get("/review").headers["location"] == "/login"


def test_unknown_names_get_the_same_answers(client: Any) -> None:
    answers = [
        [htmx(client, "/login", {"name": name, "password": "wrong wrong"}).text for _ in range(BY_NAME.free + 2)]
        for name in ("Ana", "Bob")
    ]
    assert answers[0] == answers[1]
    assert "try again in 2 seconds" in answers[0][-1]


def test_another_password_ends_sessions(client: Any, tmp_path: Path) -> None:
    htmx(client, "/login", {"name": "Ana", "password": "a long word"})
    add_studio_reviewer(tmp_path, "Ana", "another word")
    assert client.get("/review").headers["location"] == "/login"


def test_wrong_passwords_are_rejected_and_limited(client: Any) -> None:
    answers = [htmx(client, "/login", {"name": "Ana", "password": f"{n}"}) for n in range(BY_NAME.free)]
    assert {answer.status_code for answer in answers} == {400}
    assert "Wrong name or password" in answers[0].text
    assert "try again in" in htmx(client, "/login", {"name": "Ana", "password": "a long word"}).text


def test_a_login_needs_the_token_of_its_page(client: Any) -> None:
    client.headers.update({CSRF_HEADER: "x"})
    assert htmx(client, "/login", {"name": "Ana", "password": "a long word"}).status_code == 403


def test_passwords_are_entered_and_not_printed(tmp_path: Path) -> None:
    command = ["studio", str(tmp_path), "--add-reviewer", "Eva", "--adjudicator"]
    found = CliRunner().invoke(app, command, input="a long word\na long word\n")
    assert found.exit_code == 0, found.output
    assert "a long word" not in found.output
    assert "Eva" in found.output
    (eva,) = list_studio_reviewers(tmp_path)
    assert (eva.name, eva.is_adjudicator) == ("Eva", True)
    for options, role in (([], "adjudicator"), (["--no-adjudicator"], "reviewer"), ([], "reviewer")):
        found = CliRunner().invoke(app, [*command[:4], *options], input="a long word\na long word\n")
        assert role in found.output
    assert CliRunner().invoke(app, ["studio", str(tmp_path), "--remove-reviewer", "Eva"]).exit_code == 0
    assert list_studio_reviewers(tmp_path) == []


@pytest.mark.parametrize(
    "options",
    [
        ["--share", "review.example.org"],
        ["--share", "review.example.org", "--cert", "a.pem"],
        ["--share", "review.example.org", "--cert", "a.pem", "--key", "b.pem", "--behind-proxy"],
        ["--share", "https://review.example.org/", "--behind-proxy"],
        ["--cert", "a.pem"],
        ["--behind-proxy"],
        ["--bind", "0.0.0.0"],
        ["--share", "review.example.org", "--behind-proxy", "--bind", "0.0.0.0"],
        ["--adjudicator"],
    ],
)
def test_nothing_is_shared_without_a_certificate(tmp_path: Path, options: list[str]) -> None:
    found = CliRunner().invoke(app, ["studio", str(tmp_path), *options])
    assert isinstance(found.exception, UsageError)


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_a_certificate_that_cannot_be_used_is_an_error(tmp_path: Path, content: str | None) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    if content is not None:
        cert.write_text(content, encoding="utf-8")
        key.write_text(content, encoding="utf-8")
    options = ["--share", "review.example.org", "--cert", str(cert), "--key", str(key), "--port", "0"]
    found = CliRunner().invoke(app, ["studio", str(tmp_path), *options, "--bind", "127.0.0.1"])
    assert isinstance(found.exception, UsageError)
    assert "cert.pem" in str(found.exception)


def test_the_log_handlers_of_libraries_stay_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    handler = logging.StreamHandler(io.StringIO())
    monkeypatch.setattr(handler, "close", lambda: closed.append("closed"))
    files = ["--cert", str(tmp_path / "cert.pem"), "--key", str(tmp_path / "key.pem"), "--port", "0"]
    CliRunner().invoke(app, ["studio", str(tmp_path), "--share", "review.example.org", *files, "--bind", "127.0.0.1"])
    assert closed == []


def test_nobody_can_log_in_with_a_damaged_list_of_reviewers(client: Any, tmp_path: Path) -> None:
    htmx(client, "/login", {"name": "Ana", "password": "a long word"})
    (tmp_path / ".tiltmeter-studio" / "reviewers.json").write_text("{", encoding="utf-8")
    found = client.get("/review")
    assert found.headers["location"] == "/login"
    assert "content-security-policy" in found.headers


def test_a_login_with_too_many_fields_is_rejected(client: Any) -> None:
    assert htmx(client, "/login", {f"x{n}": "" for n in range(20)}).status_code == 400


def test_the_description_of_a_shared_studio(tmp_path: Path) -> None:
    shared = studio_on(tmp_path, build_shared_config(tmp_path, "review.example.org"))
    assert_mentions(describe_sharing(shared, "https://review.example.org/")[0], "review.example.org", "--add-reviewer")
    add_studio_reviewer(tmp_path, "Ana", "a long word")
    add_studio_reviewer(tmp_path, "Ida", "a long word", is_adjudicator=True)
    (tmp_path / "my-es").mkdir()
    (tmp_path / "my-es" / "project.toml").write_text("", encoding="utf-8")
    text = " ".join(describe_sharing(shared, "https://review.example.org/"))
    assert_mentions(text, "Ana, Ida", "my-es", "projects: Ida")


@pytest.mark.parametrize(
    ("address", "port"), [("review.example.org", None), ("review.example.org:8443", 8443), ("x:y", None)]
)
def test_the_port_of_an_address(address: str, port: int | None) -> None:
    assert parse_port(address) == port
