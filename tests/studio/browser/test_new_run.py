"""The page New run in a browser: use by keyboard, and a kill of the studio."""

import os
from pathlib import Path
from typing import Any

import pytest

from perf.studio_progress import LIMIT, measured
from tests.studio.browser.conftest import NARROW, WIDE, serving, serving_here, violations, visiting
from tests.studio.queued import pausing, until, workspace_with_items
from tiltmeter.runs.result import Result
from tiltmeter.studio.job_queue import JobQueue


@pytest.mark.slow
def test_a_run_continues_when_the_studio_is_killed(browser: Any, tmp_path: Path) -> None:
    """Start a run by keyboard, kill the studio, and find the run and its verdict in a new studio."""
    workspace = workspace_with_items(tmp_path / "work")
    cache = {"TILTMETER_CACHE": os.environ["TILTMETER_CACHE"]}
    with pausing() as (server, model):
        with (
            serving(workspace.folder, environment=cache) as studio,
            visiting(browser, studio, screen=NARROW, dark=True) as page,
        ):
            page.goto(f"{studio.address}/new-run")
            page.get_by_text("No time estimate").wait_for()
            assert violations(page) == []
            page.get_by_text("Add a model", exact=True).focus()
            page.keyboard.press("Enter")
            page.locator("[name=where]").select_option("chat")
            page.get_by_label("Name", exact=True).fill(model.removeprefix("chat:").split("@")[0])
            page.get_by_label("Address (only for a server)").fill(model.split("@")[1])
            page.keyboard.press("Enter")
            added = page.get_by_role("checkbox", name=model)
            added.wait_for()
            assert added.is_checked()
            page.get_by_role("checkbox", name="embedded").focus()
            page.keyboard.press("Space")
            page.get_by_role("checkbox", name="English").first.focus()
            page.keyboard.press("Space")
            page.get_by_text("starter-pairs").focus()
            page.keyboard.press("Enter")
            page.get_by_role("checkbox", name="German 40 items").wait_for()
            page.get_by_text("Your own files").focus()
            page.keyboard.press("Enter")
            page.get_by_role("checkbox", name="association-5.en.jsonl").focus()
            page.keyboard.press("Space")
            page.get_by_text("about 30 requests").wait_for()
            page.get_by_label("Name of the run").fill("mine")
            page.keyboard.press("Enter")
            heading = page.get_by_role("heading", name="mine")
            heading.wait_for()
            assert heading.evaluate("element => element === document.activeElement")
            page.get_by_text("10 of 30 questions").wait_for()
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
            # The button that has the focus is not replaced by what comes in.
            page.get_by_role("button", name="Stop mine").focus()
            page.goto("about:blank")
            studio.kill()
        (job,) = JobQueue(workspace).list_jobs()
        assert job.state == "running"
        with serving_here(workspace.folder) as studio, visiting(browser, studio, screen=WIDE) as page:
            page.goto(f"{studio.address}/new-run")
            page.get_by_text("10 of 30 questions").wait_for()
            page.get_by_role("button", name="Stop mine").focus()
            server.resume.set()
            page.get_by_text("mine finished").wait_for()
            # The focus stays with the job.
            assert page.evaluate("document.activeElement.closest('li')?.dataset.name") == "mine"
            page.get_by_text("not interpretable").wait_for()
            assert violations(page) == []
            page.get_by_role("link", name="Open the run mine").focus()
            page.keyboard.press("Enter")
            page.wait_for_url("**/runs/open**")
            page.get_by_role("heading", name="mine").wait_for()
    until(lambda: not JobQueue(workspace).list_jobs()[0].is_active)
    assert len(set(Result.load(workspace.folder / "runs" / "mine").scores["item"])) == 5


@pytest.mark.slow
def test_neither_studio_nor_page_grows_with_progress(browser: Any) -> None:
    """A short version of perf/studio_progress.py: 200 events at 100 per second."""
    growth = measured(browser, 200, 100)
    assert growth.messages <= 4 * growth.seconds + 2
    assert growth.server < LIMIT
    assert growth.page < LIMIT
    assert growth.nodes_after <= growth.nodes_before + 50
