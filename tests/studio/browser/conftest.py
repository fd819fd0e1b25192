"""A studio in a process of its own, and a browser."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.reports.chromium import chromium, why_not

# A screen of a laptop and one of a telephone.
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@dataclass
class Served:
    """A running studio: its workspace, address and process; `start` has the token."""

    folder: Path
    address: str
    start: str
    process: "subprocess.Popen[str]"


# What a studio for this machine prints.
_STARTED = r"(http://127\.0\.0\.1:\d+)/start\?token=\S+"


@contextmanager
def serving(
    folder: Path, *more: str, environment: dict[str, str] | None = None, started: str = _STARTED
) -> Iterator[Served]:
    """Start `tiltmeter studio` on a folder and end it afterwards."""
    command = [sys.executable, "-m", "tiltmeter", "studio", str(folder), "--no-browser", "--port", "0", *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if found := re.search(started, said):
            break
    else:
        pytest.fail(f"the studio did not start: {said}")
    try:
        yield Served(folder, found[1], found[0], process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if reason := why_not():
        pytest.skip(reason)
    with chromium() as found:
        yield found


@contextmanager
def visiting(
    browser: Any, studio: Served, *, screen: dict[str, int] = WIDE, dark: bool = False, refused: int = 0
) -> Iterator[Any]:
    """A page that is let in; at its end, nothing may have been written to the console but `refused` refusals."""
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


def violations(page: Any) -> list[str]:
    """The serious and critical accessibility violations of a page, by axe-core."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{entry['id']}: {entry['help']} ({node['html']})"
        for entry in found
        if entry["impact"] in ("serious", "critical")
        for node in entry["nodes"]
    ]
