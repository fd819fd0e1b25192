"""The room Data in a browser."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.studio.browser.conftest import NARROW, WIDE, Served, serving, violations, visiting


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("work")) as found:
        yield found


@pytest.mark.parametrize(("screen", "dark"), [(WIDE, False), (NARROW, True)])
def test_a_bad_file_is_checked_by_keyboard(
    studio: Served, browser: Any, tmp_path: Path, screen: dict[str, int], dark: bool
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps({"id": "a", "language": "en", "nonsense": 1}) + "\n", encoding="utf-8")
    with visiting(browser, studio, screen=screen, dark=dark) as page:
        page.goto(f"{studio.address}/data")
        page.get_by_text("not downloaded").first.wait_for()
        page.get_by_text("There is none in this workspace").wait_for()
        assert violations(page) == []
        page.get_by_label("JSONL file, at most 20 MB").set_input_files(path)
        page.get_by_role("button", name="Check").focus()
        page.keyboard.press("Enter")
        page.get_by_text("0 items, 1 error").wait_for()
        assert violations(page) == []
        page.get_by_role("link", name="starter", exact=True).focus()
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Show examples").focus()
        page.keyboard.press("Enter")
        page.get_by_text("grandmother").first.wait_for()
        assert violations(page) == []
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= screen["width"]
