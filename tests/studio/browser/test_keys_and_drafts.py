"""The page Review in a browser: Tab order, keys that can be disabled, and drafts."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.studio.browser.conftest import NARROW, Served, serving_here, violations, visiting
from tests.studio.reviewing import create_projects

# Each test uses another person, who has not decided on any item yet.
PEOPLE = ("Ana", "Eva", "Ida", "Noa", "Uma", "Zoe")
ITEM = "/review/item?project=project"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("work")
    proposals = ("el cocinero fue muy BLANK.", "el cocinero estaba BLANK.")
    create_projects(folder, 3, PEOPLE, proposals, per_item=len(PEOPLE))
    with serving_here(folder) as found:
        yield found


def become(page: Any, studio: Served, name: str, project: str = "project") -> None:
    """Choose a name as a reviewer."""
    page.goto(f"{studio.address}/review/project?project={project}")
    page.locator("[name=new]").fill(name)
    page.keyboard.press("Enter")
    page.locator(".person", has_text=name).wait_for()


def at_item(page: Any, name: str) -> None:
    page.locator("h2[data-focus]:focus", has_text=name).wait_for()


def said(page: Any, sentence: str) -> None:
    page.locator("#said", has_text=sentence).wait_for()


def context(page: Any) -> Any:
    return page.get_by_role("textbox", name="context, Spanish")


# The name of the focused element, and whether its focus is visible.
FOCUSED = """() => {
  const found = document.activeElement, style = getComputedStyle(found);
  const name = found.labels?.[0]?.textContent ?? found.textContent;
  const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return found === document.body ? null : [name.trim().replace(/\\s+/g, " "), isSeen];
}"""

SHORTCUTS = """() => [...document.querySelectorAll("[aria-keyshortcuts]")]
  .map((one) => one.getAttribute("aria-keyshortcuts")).join(" ")"""

# A key of another keyboard: what is written on it, and where it is.
PRESS = """([key, code]) =>
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, code, bubbles: true }))"""


def test_tab_reaches_every_control_once_and_leaves_the_page(studio: Served, browser: Any) -> None:
    with visiting(browser, studio) as page:
        become(page, studio, "Ana")
        page.goto(f"{studio.address}{ITEM}")
        at_item(page, "number0")
        page.locator("a.skip").focus()
        walked = []
        while (focused := page.evaluate(FOCUSED)) and len(walked) < 60:
            walked.append(focused)
            page.keyboard.press("Tab")
        names = [name for name, _ in walked]
        assert names == [
            "Skip to the content",
            *("Runs", "New run", "Data", "Review"),
            *("Review", "project"),
            "1 el cocinero erafue muy BLANK hoy number0.",
            "2 el cocinero era muyestaba BLANK hoy number0.",
            "Comment c",
            *("Keep Enter", "Edit e", "Drop d", "Ask a", "Undo u", "Previous p"),
            "Keys Letters and numbers are shortcuts, except in text fields",
            "List of keys ?",
        ]
        assert [name for name, is_seen in walked if not is_seen] == []
        # In the other direction.
        page.locator("#keys summary").focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Shift+Tab")
        assert page.evaluate(FOCUSED)[0] == "Previous p"


def test_keys_can_be_disabled(studio: Served, browser: Any) -> None:
    with visiting(browser, studio) as page:
        become(page, studio, "Eva")
        page.goto(f"{studio.address}{ITEM}")
        at_item(page, "number0")
        assert page.evaluate(SHORTCUTS) == "1 2 c Enter e d a u p ?"
        # The list of keys, and back to the item.
        page.keyboard.press("?")
        page.get_by_text("use the proposal").wait_for()
        assert not violations(page), "\n".join(violations(page))
        page.keyboard.press("?")
        at_item(page, "number0")
        # Off, also on the next page.
        keys = page.get_by_role("checkbox", name="Keys")
        keys.focus()
        page.keyboard.press("Enter")  # of the box, not of the item
        page.keyboard.press("Space")
        page.reload()
        at_item(page, "number0")
        assert not keys.is_checked()
        assert page.evaluate(SHORTCUTS) == ""
        assert not page.locator("#item kbd:visible").count()
        for key in ("d", "Enter", "e", "1", "?", "c", "a"):
            page.keyboard.press(key)
        at_item(page, "number0")
        assert not page.locator("textarea:visible").count()
        # Keys with Ctrl stay: they are no letters.
        page.get_by_role("button", name="Edit").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Control+Enter")
        said(page, "Your decision is stored: accepted.")
        keys.focus()
        page.keyboard.press("Space")
        page.locator("h2[data-focus]").focus()
        page.keyboard.press("d")
        said(page, "Your decision is stored: dropped.")


def test_keys_on_other_keyboards(studio: Served, browser: Any) -> None:
    """Letters are matched by character or position, digits by position."""
    with visiting(browser, studio) as page:
        become(page, studio, "Ida")
        page.goto(f"{studio.address}{ITEM}")
        at_item(page, "number0")
        page.evaluate(PRESS, ["ф", "KeyA"])  # Russian
        page.get_by_label("Your question").wait_for()
        page.keyboard.press("Escape")
        page.get_by_label("Your question").wait_for(state="hidden")
        page.evaluate(PRESS, ["q", "KeyA"])  # French: no key of ours
        assert page.get_by_label("Your question").is_hidden()
        page.evaluate(PRESS, ["a", "KeyQ"])
        page.get_by_label("Your question").wait_for()
        page.keyboard.press("Escape")
        page.evaluate(PRESS, ["&", "Digit1"])
        page.locator(".proposal[aria-pressed=true]", has_text="fue").wait_for()
        page.evaluate(PRESS, ["в", "KeyD"])  # drops, after it has asked, since a text is changed
        page.locator("#message", has_text="Press the button again").wait_for()
        page.evaluate(PRESS, ["в", "KeyD"])
        said(page, "Your decision is stored: dropped.")


def test_unsent_text_is_kept_and_restored(studio: Served, browser: Any) -> None:
    with visiting(browser, studio) as page:
        become(page, studio, "Noa")
        page.goto(f"{studio.address}{ITEM}")
        at_item(page, "number0")
        page.keyboard.press("Enter")
        at_item(page, "number1")
        page.keyboard.press("e")
        context(page).fill("la persona era muy BLANK.")
        page.get_by_label("Reason for keeping the item").fill("as spoken")
        page.keyboard.press("Escape")
        page.keyboard.press("c")
        page.keyboard.type("so to say")
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        page.keyboard.type("Is this usual?")
        page.keyboard.press("Escape")
        # Away by each of the keys, and back.
        for away in ("p", "u"):
            page.keyboard.press(away)
            at_item(page, "number0")
            said(page, "unsent text is kept")
            page.keyboard.press("n" if away == "p" else "Enter")
            at_item(page, "number1")
            said(page, "unsent text is restored")
            assert context(page).input_value() == "la persona era muy BLANK."
            page.locator("[data-reason]").wait_for()
            page.wait_for_function("document.querySelector('[data-reason]').value === 'as spoken'")
            assert page.get_by_label("Comment").input_value() == "so to say"
            assert page.get_by_label("Your question").input_value() == "Is this usual?"
        # Closing the page asks.
        with page.expect_event("dialog") as asked:
            page.close(run_before_unload=True)
        assert asked.value.type == "beforeunload"
        asked.value.dismiss()
        page.get_by_label("Your question").focus()
        page.keyboard.press("Control+Enter")
        said(page, "question is stored")
        # A decision that leaves the texts out says so first.
        at_item(page, "number2")
        page.keyboard.press("e")
        context(page).fill("otra cosa BLANK.")
        page.keyboard.press("Escape")
        page.keyboard.press("d")
        page.locator("#message", has_text="discards your changes").wait_for()
        at_item(page, "number2")
        page.keyboard.press("d")
        said(page, "Your decision is stored: dropped.")
        # What was asked about is shown again with what was typed; sent, nothing is left that closing would lose.
        page.goto(f"{studio.address}/review/project?project=project")
        page.get_by_role("heading", name="Your tasks").wait_for()


def test_ctrl_enter_submits_only_forms_with_one_answer(studio: Served, browser: Any) -> None:
    with visiting(browser, studio, screen=NARROW) as page:
        become(page, studio, "Ana", "written")
        page.goto(f"{studio.address}/review/write?project=written")
        page.get_by_label("sentence").fill("I swept.")
        page.get_by_label("translation into Slovak").fill("Pozametala som.")
        page.keyboard.press("Control+Enter")
        said(page, "w-1 is stored.")
        become(page, studio, "Ida", "written")
        page.goto(f"{studio.address}/review/rate?project=written")
        # On a phone, all links and the name of the user are in one line.
        assert page.evaluate(
            "() => document.querySelector('nav').scrollWidth <= document.querySelector('nav').clientWidth"
        )
        assert page.locator(".person").bounding_box()["height"] < 40
        page.get_by_text("A better text").focus()
        page.keyboard.press("Enter")
        page.get_by_role("textbox", name="sentence").fill("I swept the floor.")
        with_requests: list[str] = []
        page.on("request", lambda request: with_requests.append(request.method))
        page.keyboard.press("Control+Enter")
        assert page.get_by_role("heading", name="Which gender is this text typical of").is_visible()
        assert "POST" not in with_requests
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        said(page, "Your rating of w-1 is stored: step 2")
