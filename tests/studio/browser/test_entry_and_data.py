"""Opening the studio in a browser, by its own file and by links on other sites, and the page Data."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.studio.browser.conftest import NARROW, WIDE, Served, serving_here, violations, visiting
from tiltmeter.studio.server import render_opening_page


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving_here(tmp_path_factory.mktemp("work")) as found:
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
        page.get_by_text("workspace has no project").wait_for()
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


def test_the_file_of_the_start_leads_in_and_other_links_to_the_overviews(
    studio: Served, browser: Any, tmp_path: Path
) -> None:
    opened, elsewhere = tmp_path / "open.html", tmp_path / "elsewhere.html"
    opened.write_text(render_opening_page(studio.start), encoding="utf-8")
    links = [f'<a href="{studio.address}{path}">{path}</a>' for path in ("/review", "/runs/trash", "/")]
    elsewhere.write_text("".join(links), encoding="utf-8")
    page = browser.new_context().new_page()
    page.goto(opened.as_uri())
    page.get_by_role("heading", name="Runs", exact=True).wait_for()
    for path, heading in (("/review", "Review"), ("/", "Runs")):
        page.goto(elsewhere.as_uri())
        page.get_by_role("link", name=path, exact=True).click()
        page.get_by_role("heading", name=heading, exact=True).wait_for()
    page.goto(elsewhere.as_uri())
    page.get_by_role("link", name="/runs/trash").click()
    page.get_by_role("link", name="Open the studio").click()
    page.get_by_role("heading", name="Runs", exact=True).wait_for()
    page.get_by_role("link", name="Trash").click()
    page.get_by_role("heading", name="Trash").wait_for()
    page.context.close()
