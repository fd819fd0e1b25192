"""The page Runs in a browser."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.studio.browser.conftest import NARROW, WIDE, Held, Served, serving_here, violations, visiting
from tests.studio.made_runs import biased, save, small, write
from tiltmeter.studio import responses

LATER = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("work")
    save(folder / "runs" / "bert", small("bert", 1), LATER)
    save(folder / "runs" / "roberta", small("roberta", 2), LATER + timedelta(days=1))
    save(folder / "runs" / "gpt", small("gpt2", 3, "causal"), LATER + timedelta(days=2))
    save(folder / "biased", biased("a-model-with-a-long-name/" + "x" * 40), LATER + timedelta(days=3))
    for number in range(60):
        write(folder / "old" / f"half-{number}", {"scores.parquet": ""})
    with serving_here(folder) as found:
        yield found


def press(page: Any, found: Any, key: str = "Enter") -> None:
    """Use an element by keyboard."""
    found.focus()
    page.keyboard.press(key)


def check(page: Any, screen: dict[str, int]) -> None:
    """Assert that the page is accessible and not wider than the screen."""
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= screen["width"]


def test_runs_are_found_compared_opened_renamed_deleted_and_restored(studio: Served, browser: Any) -> None:
    with visiting(browser, studio, screen=WIDE) as page:
        page.goto(f"{studio.address}/runs")
        page.get_by_text("64 runs").wait_for()
        assert page.locator("li.run").count() == 50
        check(page, WIDE)
        press(page, page.get_by_role("button", name="Show more"))
        page.locator("li.run").nth(63).wait_for()
        page.locator("li.run:nth-child(51) a:focus").wait_for()

        page.locator("select[name=benchmark]").select_option(index=1)
        page.wait_for_url("**/runs?*benchmark=*")
        page.locator("select[name=benchmark]").select_option("")
        page.get_by_text("64 runs").wait_for()

        # What is chosen stays chosen while the list is searched.
        search = page.get_by_role("searchbox")
        search.focus()
        page.keyboard.type("bert")
        page.get_by_text("2 of 64 runs").wait_for()
        page.wait_for_url("**/runs?text=bert")
        page.locator("#find:focus").wait_for()
        press(page, page.get_by_label("Choose bert for a comparison"), "Space")
        search.fill("gpt")
        page.get_by_text("1 of 64 runs").wait_for()
        press(page, page.get_by_label("Choose gpt for a comparison"), "Space")
        press(page, page.get_by_role("button", name="Compare 2 runs"))
        page.get_by_role("heading", name="Not compared").wait_for()
        page.get_by_text("(masked; causal)").first.wait_for()
        check(page, WIDE)
        press(page, page.get_by_role("link", name="Compare them anyway"))
        page.frame_locator("iframe.report").get_by_role("heading", name="What differs").wait_for()
        check(page, WIDE)

        page.goto(f"{studio.address}/runs?tone=towards")
        press(page, page.get_by_role("link", name="biased", exact=True))
        frame = page.frame_locator("iframe.report")
        frame.locator(".chart svg").first.wait_for()
        assert frame.locator("body").evaluate("() => window.origin") == "null"
        check(page, WIDE)

        press(page, page.get_by_text("Rename, tag, delete"))
        name = page.get_by_label("Name (for display")
        name.fill("The large one")
        page.get_by_label("Tags, separated by commas").fill("paper, draft")
        page.keyboard.press("Enter")
        page.get_by_text("saved", exact=True).wait_for()
        page.get_by_role("heading", name="The large one").wait_for()
        check(page, WIDE)
        page.once("dialog", lambda dialog: dialog.accept())
        press(page, page.get_by_role("button", name="Delete"))
        page.get_by_text("63 runs").wait_for()
        press(page, page.get_by_role("link", name="Trash"))
        page.get_by_role("heading", name="The large one").wait_for()
        check(page, WIDE)
        press(page, page.get_by_role("button", name="Restore The large one"))
        page.get_by_text("draft").wait_for()
        press(page, page.get_by_text("Download", exact=True))
        with page.expect_download() as download:
            press(page, page.get_by_role("link", name="All values (CSV)"))
        assert download.value.suggested_filename == "The large one.measures.csv"
        page.goto(f"{studio.address}/runs?tag=paper")
        page.get_by_text("1 of 64 runs").wait_for()
        page.goto(f"{studio.address}/runs/open?run=biased")
        press(page, page.get_by_text("Rename, tag, delete"))
        page.get_by_label("Name (for display").fill("")
        page.get_by_label("Tags, separated by commas").fill("")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="biased").wait_for()


def test_dark_pages_on_a_phone(studio: Served, browser: Any) -> None:
    with visiting(browser, studio, screen=NARROW, dark=True) as page:
        page.goto(f"{studio.address}/runs")
        page.get_by_text("64 runs").wait_for()
        check(page, NARROW)
        page.goto(f"{studio.address}/runs/compare?run=runs/bert&run=runs/gpt")
        page.get_by_role("heading", name="Not compared").wait_for()
        check(page, NARROW)
        press(page, page.get_by_role("link", name="Compare them anyway"))
        page.frame_locator("iframe.report").get_by_role("heading", name="What differs").wait_for()
        check(page, NARROW)
        page.goto(f"{studio.address}/runs/open?run=biased")
        page.frame_locator("iframe.report").locator(".chart svg").first.wait_for()
        press(page, page.get_by_text("Rename, tag, delete"))
        check(page, NARROW)
        page.once("dialog", lambda dialog: dialog.accept())
        press(page, page.get_by_role("button", name="Delete"))
        page.get_by_text("63 runs").wait_for()
        press(page, page.get_by_role("link", name="Trash"))
        page.get_by_role("heading", name="biased").wait_for()
        check(page, NARROW)
        press(page, page.get_by_role("button", name="Restore biased"))
        page.get_by_role("heading", name="biased").wait_for()


def test_a_search_waits_for_a_pending_list(studio: Served, browser: Any) -> None:
    """The pending list must neither be aborted nor replace the result of the search."""
    template = Path(responses.__file__).parent / "templates" / "runs_list.html.jinja"
    reading = re.search(r'<div hx-get="/runs/list.*</div>', template.read_text(encoding="utf-8"))
    assert reading is not None
    with visiting(browser, studio) as page:
        page.goto(f"{studio.address}/runs")
        page.get_by_text("64 runs").wait_for()
        held = Held(page, "**/runs/list?*")
        page.locator("#runs").evaluate(
            "(list, html) => { list.insertAdjacentHTML('afterbegin', html); htmx.process(list) }",
            reading[0].replace("{{ query }}", "text="),
        )
        page.locator("#runs .htmx-request").wait_for(state="attached")
        page.locator("#filter").evaluate(
            "form => { window.searched = new Promise(done => form.addEventListener('htmx:trigger', () => done())) }"
        )
        page.get_by_role("searchbox").focus()
        page.keyboard.type("bert")
        page.evaluate("() => window.searched")
        assert len(held.routes) == 1
        with page.expect_response("**/runs/list?text=bert**"):
            held.let_go()
        page.get_by_text("2 of 64 runs").wait_for()
