"""A shared studio with HTTPS in a browser: a reviewer logs in, reviews and logs out, by keyboard."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf.reviewed_project import make_project
from tests.studio.browser.conftest import NARROW, Served, serving, violations, visiting
from tests.studio.certificate import certificate
from tiltmeter.studio.reviewer_accounts import add_studio_reviewer


@pytest.fixture
def studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / ".cache"))
    make_project(tmp_path, 2, [], agreeing=1, per_item=1)
    add_studio_reviewer(tmp_path, "Zoë", "correct horse")
    cert, key = certificate(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--share", f"localhost:{port}", "--cert", str(cert), "--key", str(key)]
    with serving(
        tmp_path, *options, "--bind", "127.0.0.1", "--port", str(port), started=r"(https://localhost:\d+)/"
    ) as found:
        yield found


def log_in(page: Any, name: str, password: str) -> None:
    page.get_by_label("Name").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type(password)
    page.keyboard.press("Enter")


def test_log_in_review_and_log_out(studio: Served, browser: Any) -> None:
    with visiting(browser, studio, screen=NARROW, refused=2) as page:
        page.wait_for_url("**/login")
        assert page.get_by_label("Name").evaluate("field => field === document.activeElement")
        assert violations(page) == []
        log_in(page, "Zoë", "wrong horse")
        page.get_by_role("alert").get_by_text("Wrong name or password").wait_for()
        assert violations(page) == []
        log_in(page, "Zoë", "correct horse")
        page.get_by_role("heading", name="Review", exact=True).wait_for()
        (cookie,) = page.context.cookies()
        assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Lax")
        assert page.get_by_role("navigation").inner_text().split() == ["Review"]
        page.get_by_role("link", name="project", exact=True).focus()
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Review items").focus()
        page.keyboard.press("Enter")
        page.locator("button:focus", has_text="Start").wait_for()
        page.keyboard.press("Enter")
        page.locator("h2:focus", has_text="number0").wait_for()
        assert violations(page) == []
        page.keyboard.press("Enter")
        page.locator("#said", has_text="Your decision is stored: accepted.").wait_for()
        # The session ends while Zoë writes; she logs in in another tab, and sends the page again.
        page.keyboard.press("c")
        page.keyboard.type("as spoken")
        page.context.clear_cookies()
        page.keyboard.press("Control+Enter")
        again = page.get_by_role("alert").get_by_role("link", name="Log in in another tab")
        again.wait_for()
        assert page.get_by_label("Comment").input_value() == "as spoken"
        assert violations(page) == []
        again.focus()
        with page.context.expect_page() as opened:
            page.keyboard.press("Enter")
        log_in(opened.value, "Zoë", "correct horse")
        opened.value.get_by_role("button", name="Log out").wait_for()
        opened.value.close()
        page.get_by_label("Comment").focus()
        page.keyboard.press("Control+Enter")
        page.locator("#said", has_text="number1").wait_for()
        assert page.locator("#message").text_content() == ""
        page.get_by_role("button", name="Log out").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/login")
        page.goto(f"{studio.address}/review/item?project=project")
        page.wait_for_url("**/login")
