"""The page Review in a browser, by keyboard only: two reviewers, agreement, adjudication, publication."""

from collections.abc import Iterator
from typing import Any

import pytest

from perf.kills_review import REVIEWERS
from tests.studio.browser.conftest import NARROW, WIDE, Held, Served, serving_here, violations, visiting
from tests.studio.reviewing import create_projects
from tiltmeter.making.project import open_project

ARABIC = "كان الطباخ BLANK جدا اليوم."


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("work")
    proposals = ("el cocinero fue muy BLANK.", "ella era BLANK, la cocinera.")
    create_projects(folder, 4, REVIEWERS, proposals, per_item=2)
    with open_project(folder / "project") as project, project.store.begin_transaction():
        project.store.set_text("i2", "text", "context", ARABIC, step="repair", by="x", why="")
        project.store.set_text("i2", "text", "target_term", "الطباخ", step="repair", by="x", why="")
    with serving_here(folder) as found:
        yield found


def open_as(page: Any, studio: Served, name: str, project: str = "project") -> None:
    """Choose a name on the page of a project, by keyboard."""
    page.goto(f"{studio.address}/review")
    page.get_by_role("link", name=project, exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("textbox").focus()
    page.keyboard.type(name)
    page.wait_for_load_state()  # the scripts are loaded
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Your tasks").wait_for()


def follow(page: Any, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).focus()
    page.keyboard.press("Enter")


def said(page: Any, sentence: str) -> None:
    page.locator("#said", has_text=sentence).wait_for()


def test_two_reviewers_agreement_adjudication_publication(studio: Served, browser: Any) -> None:
    with visiting(browser, studio, screen=WIDE) as page:
        open_as(page, studio, "Ana")
        assert violations(page) == []
        follow(page, "Review items")
        page.get_by_role("heading", name="number0").wait_for()
        assert violations(page) == []
        # A proposal is taken, its change is shown, and taken back.
        page.keyboard.press("1")
        page.locator("#check ins", has_text="fue").wait_for()
        assert page.locator("textarea:visible").input_value() == "el cocinero fue muy BLANK."
        page.keyboard.press("1")
        page.locator("#check ins").wait_for(state="detached")
        page.keyboard.press("1")
        page.locator("#check ins", has_text="fue").wait_for()
        # Keys are letters while somebody types.
        page.keyboard.press("c")
        page.keyboard.type("due to d and e")
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        said(page, "Your decision is stored: edited.")
        page.get_by_role("heading", name="number1").wait_for()
        assert page.evaluate("document.activeElement.textContent").startswith("el jardinero")
        page.keyboard.press("d")
        said(page, "Your decision is stored: dropped.")
        page.keyboard.press("u")
        said(page, "(dropped) is withdrawn")
        page.keyboard.press("d")
        said(page, "Your decision is stored: dropped.")
        # Right to left, in place.
        page.get_by_role("heading", name=ARABIC).wait_for()
        page.keyboard.press("e")
        field = page.get_by_role("textbox", name="context, Spanish")
        assert field.evaluate("element => getComputedStyle(element).direction") == "rtl"
        assert page.locator("mark.target").last.inner_text() == "الطباخ"
        page.keyboard.press("Escape")
        # Ask a question.
        page.keyboard.press("a")
        page.keyboard.type("Is this Spanish?")
        page.keyboard.press("Control+Enter")
        said(page, "question is stored")
        page.keyboard.press("p")
        said(page, "already decided on this item")
        page.keyboard.press("n")
        page.get_by_role("heading", name="number3").wait_for()
        # A warning is kept with a reason only.
        page.keyboard.press("e")
        page.get_by_role("textbox", name="context, Spanish").focus()
        page.keyboard.press("Control+A")
        page.keyboard.type("la persona era BLANK.")
        reason = page.get_by_label("Reason for keeping the item")
        reason.wait_for()
        assert violations(page) == []
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.name") == "why:target-not-in-context"
        page.keyboard.type("as spoken")
        page.keyboard.press("Control+Enter")
        said(page, "Your decision is stored: edited.")
        page.get_by_role("heading", name="reviewed all").wait_for()

    with visiting(browser, studio, screen=NARROW, dark=True) as page:
        open_as(page, studio, "Eva")
        follow(page, "Answer questions")
        page.get_by_label("Answer").focus()
        page.keyboard.type("No, Arabic.")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        said(page, "answer is stored")
        page.goto(f"{studio.address}/review/item?project=project")
        for title in ("number0", "number1", ARABIC, "number3"):
            page.get_by_role("heading", name=title).wait_for()
            if title == "number0":
                assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
            if reason := page.locator("[data-reason]").count():
                for place in range(reason):
                    page.locator("[data-reason]").nth(place).fill("as it is")
            page.locator("h2[data-focus]").focus()
            page.keyboard.press("Enter")
            said(page, "Your decision is stored: accepted.")
        page.get_by_role("heading", name="reviewed all").wait_for()

    with visiting(browser, studio) as page:
        open_as(page, studio, "Ida")
        follow(page, "Agreement")
        page.get_by_text("Krippendorff").wait_for()
        page.get_by_text("Cohen").first.wait_for()
        assert violations(page) == []
        page.goto(f"{studio.address}/review/conflicts?project=project")
        page.get_by_role("heading", name="number0").wait_for()
        page.locator("del", has_text="era").first.wait_for()
        assert violations(page) == []
        page.keyboard.press("1")
        said(page, "number0")
        page.get_by_role("heading", name="number1").wait_for()
        page.keyboard.press("e")
        page.get_by_role("textbox", name="context, another text").focus()
        page.keyboard.press("End")
        page.keyboard.type(" Sí.")
        # Another's decision would leave this text out, which is said first.
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        page.locator("#message", has_text="discards your changes").wait_for()
        page.get_by_role("textbox", name="context, another text").focus()
        page.keyboard.press("Control+Enter")
        said(page, "number1")
        page.keyboard.press("d")
        said(page, "number3")
        page.get_by_role("heading", name="no conflicts").wait_for()
        follow(page, "Publish")
        page.get_by_label("leave open items out").focus()
        page.keyboard.press("Space")
        page.get_by_label("Licence").focus()
        page.keyboard.type("CC0-1.0")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Edition 1").wait_for()
        assert violations(page) == []
    published = (studio.folder / "published" / "project" / "items.jsonl").read_text(encoding="utf-8")
    assert "el cocinero fue muy BLANK." in published
    assert " Sí." in published


def test_writing_and_rating_by_keyboard(studio: Served, browser: Any) -> None:
    with visiting(browser, studio) as page:
        open_as(page, studio, "Ana", "written")
        held = Held(page, "**/htmx*.js")
        page.goto(f"{studio.address}/review/write?project=written", wait_until="commit")
        page.get_by_label("sentence").focus()
        page.keyboard.type("They swept.")  # before the scripts have come
        held.let_go()
        page.get_by_text("not in the first person").wait_for()
        page.keyboard.press("Control+A")
        page.keyboard.type("I swept.")
        page.keyboard.press("Tab")
        page.keyboard.type("Pozametala som.")
        page.get_by_text("No problems found").wait_for()
        assert violations(page) == []
        page.keyboard.press("Control+Enter")
        said(page, "w-1 is stored.")
        page.get_by_text("1 of 2 items written").wait_for()
    with visiting(browser, studio, screen=NARROW, dark=True) as page:
        open_as(page, studio, "Ida", "written")
        follow(page, "Rate items")
        page.get_by_role("heading", name="Which gender is this text typical of").wait_for()
        assert "Written about" not in page.locator("#desk").inner_text()
        assert violations(page) == []
        page.keyboard.press("2")
        said(page, "Your rating of w-1 is stored: step 2")
        page.get_by_text("Written about").wait_for()
        page.keyboard.press("4")
        page.get_by_role("heading", name="rated all").wait_for()
