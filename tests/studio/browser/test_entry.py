"""How a browser comes into a studio: by the file that the start opens, and by links on other sites."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.studio.browser.conftest import Served, serving
from tiltmeter.studio.serve import opening_page


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("work")) as found:
        yield found


def test_the_file_of_the_start_leads_in_and_other_links_to_the_overviews(
    studio: Served, browser: Any, tmp_path: Path
) -> None:
    opened, elsewhere = tmp_path / "open.html", tmp_path / "elsewhere.html"
    opened.write_text(opening_page(studio.start), encoding="utf-8")
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
    page.get_by_role("link", name="Open the studio itself").click()
    page.get_by_role("heading", name="Runs", exact=True).wait_for()
    page.get_by_role("link", name="Trash").click()
    page.get_by_role("heading", name="Trash").wait_for()
    page.context.close()
