"""Chromium for tests, or the reason why it is missing.

Where TILTMETER_BROWSER is `required`, as in continuous integration, tests fail without it instead of being skipped.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

from tests.support.patience import PATIENCE

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executable() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def _missing() -> str | None:
    """What to install if Chromium is missing; None if it is there."""
    if find_spec("playwright") is None:
        return "Playwright is not installed: pip install playwright"
    return None if executable() else "Chromium is not installed: apt-get install chromium"


def why_not() -> str | None:
    """Why tests in a browser are skipped; None if they are not."""
    return None if os.environ.get("TILTMETER_BROWSER") == "required" else _missing()


@contextmanager
def chromium() -> Iterator[Any]:
    if reason := _missing():
        raise RuntimeError(f"{reason}. TILTMETER_BROWSER says that these tests are not to be skipped.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = list(FLAGS)
        browser = playwright.chromium.launch(executable_path=executable(), args=flags, timeout=1000 * PATIENCE)
        _wait_patiently(browser)
        try:
            yield browser
        finally:
            browser.close()


def _wait_patiently(browser: Any) -> None:
    """Let the pages of a browser wait for as long as a busy machine may take, instead of 30 seconds."""

    def patient(make: Any, *given: Any, **named: Any) -> Any:
        made = make(*given, **named)
        made.set_default_timeout(1000 * PATIENCE)
        return made

    browser.new_context, browser.new_page = partial(patient, browser.new_context), partial(patient, browser.new_page)
