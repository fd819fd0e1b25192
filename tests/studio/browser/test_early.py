"""Pages on a slow connection: forms that are sent before the scripts are loaded."""

from collections.abc import Iterator
from typing import Any

import pytest

from perf.reviewed_project import make_project
from tests.studio.browser.conftest import Held, Served, serving_here, visiting
from tests.studio.queued import ITEMS, pausing, workspace_with_items


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TILTMETER_CACHE", str(folder / ".cache"))
        make_project(folder, 1, ["Ana"], agreeing=1, per_item=1)
        workspace_with_items(folder)
        with serving_here(folder) as found:
            yield found


def test_a_form_that_is_sent_early_waits_for_the_scripts(studio: Served, browser: Any) -> None:
    with visiting(browser, studio) as page:
        held = Held(page, "**/htmx*.js")
        page.goto(f"{studio.address}/review/project?project=project", wait_until="commit")
        page.locator("[name=new]").fill("Ana")
        page.keyboard.press("Enter")
        assert page.get_by_role("heading", name="Who are you?").is_visible()
        assert page.url.endswith("?project=project")
        assert held.routes
        with page.expect_request("**/review/who**") as sent:
            held.let_go()
        assert sent.value.headers["hx-request"] == "true"
        page.get_by_role("heading", name="Your tasks").wait_for()
        assert page.url.endswith("?project=project")
        page.get_by_role("link", name="Review items").click()
        page.get_by_role("heading", name="number0").wait_for()
        # Who types already is not led elsewhere when the scripts come.
        held = Held(page, "**/review.js")
        page.goto(f"{studio.address}/review/item?project=project&item=i0", wait_until="commit")
        page.get_by_label("Comment").focus()
        page.keyboard.type("so")
        held.let_go()
        page.locator("html[data-keys=on]").wait_for()
        page.keyboard.type(" to say")
        assert page.get_by_label("Comment").input_value() == "so to say"


def test_early_input_is_searched_for(studio: Served, browser: Any) -> None:
    with visiting(browser, studio) as page:
        held = Held(page, "**/htmx*.js")
        page.goto(f"{studio.address}/runs", wait_until="commit")
        page.get_by_role("searchbox").fill("german")
        with page.expect_request("**/runs/list?text=german**"):
            held.let_go()


def test_a_run_is_started_before_its_estimate_is_loaded(studio: Served, browser: Any) -> None:
    with pausing(answers=6 * ITEMS) as (_, model), visiting(browser, studio) as page:
        held = Held(page, "**/new-run/estimate")
        page.goto(f"{studio.address}/new-run")
        page.get_by_text("Add a model", exact=True).click()
        page.locator("[name=where]").select_option("chat")
        page.get_by_label("Name", exact=True).fill(model.removeprefix("chat:").split("@")[0])
        page.get_by_label("Address (only for a server)").fill(model.split("@")[1])
        page.keyboard.press("Enter")
        page.get_by_role("checkbox", name=model).wait_for()
        page.get_by_role("checkbox", name="embedded").uncheck()
        page.get_by_role("checkbox", name="English").first.uncheck()
        page.get_by_text("Your own files").click()
        page.get_by_role("checkbox", name="association-5.en.jsonl").check()
        start = page.get_by_role("button", name="Start")
        page.locator("#estimate.htmx-request").wait_for()
        assert start.is_enabled()
        start.focus()
        page.keyboard.press("Enter")
        page.locator("li[data-state]").wait_for()
        assert held.routes
        held.let_go()
        page.locator("li[data-state=finished]").wait_for()
