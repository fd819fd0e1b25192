"""A studio in a separate process or in this one, and a browser."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tests.reports.chromium import chromium, why_not
from tiltmeter.studio.app import Studio, make_app
from tiltmeter.studio.server import _Server, open_socket
from tiltmeter.studio.studio_config import build_local_config

# The screens of a laptop and of a phone.
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@dataclass
class Served:
    """A running studio with its workspace, address and process if any; `start` is the address with the token."""

    folder: Path
    address: str
    start: str
    process: "subprocess.Popen[str] | None" = None

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


# The printed address of a local studio.
_STARTED = r"(http://127\.0\.0\.1:\d+)/start\?token=\S+"


@contextmanager
def serving(
    folder: Path, *more: str, environment: dict[str, str] | None = None, started: str = _STARTED
) -> Iterator[Served]:
    """Run `tiltmeter studio` on a folder."""
    command = [sys.executable, "-m", "tiltmeter", "studio", str(folder), "--no-browser", "--port", "0", *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
    assert process.stderr is not None
    output = ""
    for line in process.stderr:
        output += line
        if found := re.search(started, output):
            break
    else:
        pytest.fail(f"the studio did not start: {output}")
    try:
        yield Served(folder, found[1], found[0], process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


@contextmanager
def serving_here(folder: Path) -> Iterator[Served]:
    """Run a studio in a thread of this process, which has already imported everything."""
    listening = open_socket("127.0.0.1", 0)
    port = listening.getsockname()[1]
    studio = Studio(build_local_config(folder, port))
    ready = threading.Event()
    settings = uvicorn.Config(make_app(studio), log_level="warning", timeout_graceful_shutdown=2)
    server = _Server(settings, ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    assert ready.wait(60)
    address = f"http://127.0.0.1:{port}"
    try:
        yield Served(folder, address, f"{address}/start?token={studio.sessions.start_token}")
    finally:
        server.should_exit = True
        thread.join()


# The browser of the tests of this folder.
_shared: list[Any] = []
_closing = ExitStack()


@pytest.fixture
def browser() -> Any:
    """Return a browser that all tests share, because its start is slow; each test has its own context."""
    if reason := why_not():
        pytest.skip(reason)
    if not _shared:
        _shared.append(_closing.enter_context(chromium()))
        _closing.callback(_shared.clear)
    return _shared[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close the browser before tests of other folders, because Playwright blocks asyncio in this thread."""
    if nextitem is None or nextitem.path.parent != Path(__file__).parent:
        _closing.close()


@contextmanager
def visiting(
    browser: Any, studio: Served, *, screen: dict[str, int] = WIDE, dark: bool = False, refused: int = 0
) -> Iterator[Any]:
    """Provide a logged-in page; afterwards its console must contain only `refused` rejected requests."""
    context = browser.new_context(viewport=screen, color_scheme="dark" if dark else "light", ignore_https_errors=True)
    page = context.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: messages.append(f"error: {error}"))
    page.goto(studio.start)
    yield page
    context.close()
    refusals = [message for message in messages if re.search("the server responded with a status of 40[01]", message)]
    assert (len(refusals), [message for message in messages if message not in refusals]) == (refused, [])


class Held:
    """Requests that are held back until `let_go`."""

    def __init__(self, page: Any, pattern: str) -> None:
        self.routes: list[Any] = []
        self._is_holding = True
        page.route(pattern, self._come)

    def _come(self, route: Any) -> None:
        if self._is_holding:
            self.routes.append(route)
        else:
            route.continue_()

    def let_go(self) -> None:
        self._is_holding = False
        for route in self.routes:
            route.continue_()


def violations(page: Any) -> list[str]:
    """Return the serious and critical accessibility violations of a page according to axe-core."""
    from axe_playwright_python.base import AXE_SCRIPT

    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run({resultTypes: ['violations'], iframes: false}).then(results => results.violations)")
    return [
        f"{entry['id']}: {entry['help']} ({node['html']})"
        for entry in found
        if entry["impact"] in ("serious", "critical")
        for node in entry["nodes"]
    ]
