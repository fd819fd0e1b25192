"""Chromium for tests, or the reason why it is missing.

If TILTMETER_BROWSER is `required`, as in continuous integration, tests fail without Chromium instead of being skipped.
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
# Milliseconds for which a page waits for an element; longer than Playwright's 30 seconds, for busy machines.
PAGE_TIMEOUT = 180_000


def executable() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def _missing() -> str | None:
    """Return what has to be installed if Chromium is missing; otherwise None."""
    if find_spec("playwright") is None:
        return "Playwright is not installed: pip install playwright"
    return None if executable() else "Chromium is not installed: apt-get install chromium"


def why_not() -> str | None:
    """Return the reason why tests in a browser are skipped; None if they are not skipped."""
    return None if os.environ.get("TILTMETER_BROWSER") == "required" else _missing()


@contextmanager
def chromium() -> Iterator[Any]:
    if reason := _missing():
        raise RuntimeError(f"{reason}. These tests are not skipped because TILTMETER_BROWSER is set to required.")
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
    """Set the timeout of a browser's pages to `PAGE_TIMEOUT`."""

    def patient(make: Any, *given: Any, **named: Any) -> Any:
        made = make(*given, **named)
        made.set_default_timeout(PAGE_TIMEOUT)
        return made

    browser.new_context, browser.new_page = partial(patient, browser.new_context), partial(patient, browser.new_page)
