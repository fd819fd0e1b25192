"""The list of items and identical proposals in a browser, by keyboard only."""

from collections.abc import Iterator
from typing import Any

import pytest

from perf.kills_review import REVIEWERS
from tests.studio.browser.conftest import NARROW, WIDE, Served, serving_here, violations, visiting
from tests.studio.browser.test_review import follow, open_as, said
from tests.studio.reviewing import create_projects
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.project import open_project
from tiltmeter.making.review.assignment import assign_items
from tiltmeter.making.review.assignment_tables import ReviewerProfile
from tiltmeter.making.review.review import Review


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("work")
    create_projects(folder, 24, REVIEWERS, ("el cocinero fue muy BLANK.", "ella era BLANK."), per_item=2)
    with open_project(folder / "project") as project, project.store.begin_transaction():
        for item, texts in project.store.list_texts("text").items():
            if " era " in texts.get("context", "") and item != "i0":
                proposal = texts["context"].replace(" era ", " fue ")
                finding = RepairFinding(item, "context", "verb", "proposed", "Another verb?", "", (proposal,))
                project.store.add_finding(finding, "repair")
    with serving_here(folder) as found:
        yield found


@pytest.mark.parametrize("is_narrow", [False, True])
def test_the_list_by_keyboard(studio: Served, browser: Any, is_narrow: bool) -> None:
    screen = NARROW if is_narrow else WIDE
    with visiting(browser, studio, screen=screen, dark=is_narrow) as page:
        open_as(page, studio, "Ana")
        follow(page, "List of items")
        page.locator("#count", has_text="of 24 items").wait_for()
        page.wait_for_load_state()
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= screen["width"]
        page.keyboard.press("/")
        page.keyboard.type("number7.")
        page.locator("#count", has_text="1 to 1 of 1 items").wait_for()
        page.keyboard.press("Control+A")
        page.keyboard.press("Delete")
        page.locator("#count", has_text="of 24 items").wait_for()
        page.locator("h1").click()
        page.keyboard.press("s")
        assert page.evaluate("document.activeElement.name") == "sort"
        page.keyboard.press("Shift+Tab")
        page.locator("h1").click()
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        title = page.locator("[data-row]").first.inner_text()
        assert page.evaluate("document.activeElement.textContent") == title
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=title).wait_for()


def test_identical_proposals_by_keyboard(studio: Served, browser: Any) -> None:
    with visiting(browser, studio) as page:
        open_as(page, studio, "Eva")
        follow(page, "List of items")
        page.locator("#count").wait_for()
        page.wait_for_load_state()
        page.keyboard.press("g")
        page.get_by_role("heading", name="Identical proposals").wait_for()
        page.wait_for_load_state()
        page.locator("[data-row]").first.wait_for()
        assert violations(page) == []
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Preview").wait_for()
        assert violations(page) == []
        page.keyboard.press("j")
        box = page.locator("input[data-row]").first
        before = box.is_checked()
        page.keyboard.press("Space")
        assert box.is_checked() != before
        page.keyboard.press("Space")
        for other in page.locator("input[data-row]").all():
            if not other.is_checked():
                other.check()
        count = page.locator("input[data-row]").count()
        page.keyboard.press("Control+Enter")
        said(page, f"Decisions stored: {count}.")
    with open_project(studio.folder / "project") as project:
        made = [one for one in project.store.list_decisions() if one.reviewer == "Eva"]
        assert len(made) == count
        assert all(" fue " in one.texts["context"] for one in made)
        assert project.store.sum_decision_times()["Eva"][0] == count


def test_the_notice_is_confirmed_by_keyboard(studio: Served, browser: Any) -> None:
    with visiting(browser, studio, screen=NARROW) as page:
        open_as(page, studio, "Ute")
        follow(page, "Review items")
        page.get_by_role("heading", name="Before you start").wait_for()
        assert violations(page) == []
        page.keyboard.press("Enter")
        page.locator("form#item").wait_for()
        page.goto(f"{studio.address}/review/write?project=written")
        page.get_by_role("heading", name="Before you start").wait_for()
        page.wait_for_load_state()
        assert violations(page) == []
        page.keyboard.press("Enter")
        page.get_by_text("not a writer").wait_for()
        # A project shows the notice once.
        page.goto(f"{studio.address}/review/rate?project=written")
        page.get_by_text("rated all your items").wait_for()


def test_the_agreement_of_the_calibration_round(studio: Served, browser: Any) -> None:
    with open_project(studio.folder / "project") as project:
        assign_items(project, [ReviewerProfile(name) for name in REVIEWERS], calibration=3)
        review = Review(project)
        for number, item in enumerate(project.store.list_calibration_items()):
            for name in REVIEWERS:
                review.decide_on_item(name, item, "drop" if number or name == "Eva" else "accept")
    for screen in (WIDE, NARROW):
        with visiting(browser, studio, screen=screen) as page:
            open_as(page, studio, "Ana")
            follow(page, "Agreement")
            page.get_by_role("heading", name="Calibration round").wait_for()
            page.wait_for_load_state()
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= screen["width"]
            if screen == NARROW:
                page.get_by_role("button", name="Open the other items").focus()
                page.keyboard.press("Enter")
                page.get_by_text("The other items are open.").wait_for()
                assert violations(page) == []
