"""The board in Chromium, opened from a file."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.board.boards import HOSTILE
from tests.reports.chromium import chromium, why_not
from tiltmeter.cluster.board.site_files import write_board

pytestmark = [pytest.mark.slow, pytest.mark.skipif(why_not() is not None, reason=why_not() or "")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as view:
        yield view


class Opened:
    """A page of the site, with its console messages and requests."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, scheme: str = "light", **options: Any) -> None:
        size = {"width": width, "height": 900}
        self.page = browser.new_context(viewport=size, color_scheme=scheme, **options).new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def ready(self) -> "Opened":
        self.page.wait_for_selector("html[data-ready]")
        return self

    def table(self, number: int = 0) -> Any:
        return self.page.locator("section.table").nth(number)

    def models(self, number: int = 0) -> list[str]:
        return [str(name) for name in self.table(number).locator("tbody th a").all_inner_texts()]

    def values(self, column: int, number: int = 0) -> list[float]:
        cells = self.table(number).locator(f"tbody td:nth-child({column + 2}) .strong").all_inner_texts()
        return [float(text) for text in cells]


def findings(page: Any) -> list[str]:
    """Return all violations that axe-core finds on a page."""
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run({resultTypes: ['violations']}).then(results => results.violations)")
    return [f"{entry['id']}: {entry['help']} ({entry['nodes'][0]['html']})" for entry in found]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("kind", ["index.html", "benchmarks/stereoset-*", "models/series-a-*", "trends/*"])
def test_pages_are_quiet_accessible_and_fit(browser: Any, site: Path, kind: str, width: int, scheme: str) -> None:
    view = Opened(browser, next(site.glob(kind)), width, scheme, bypass_csp=True)
    if not kind.startswith(("models", "trends")):
        view.ready()
    assert len(view.requests) == 1
    assert view.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert findings(view.page) == []
    assert view.page.evaluate("window.hacked") is None
    assert view.messages == []


def test_the_policy_lets_the_page_run_its_own_script_only(browser: Any, site: Path) -> None:
    view = Opened(browser, site / "index.html").ready()
    view.page.evaluate(
        "() => { const added = document.createElement('script'); added.textContent = 'window.hacked = 1'; "
        "document.body.append(added); }"
    )
    assert view.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in message for message in view.messages)


def test_the_script_draws_the_same_tables_as_the_page(browser: Any, site: Path) -> None:
    view = Opened(browser, site / "index.html").ready()
    assert view.page.locator("section.table").count() == 2
    before = [view.table(number).locator("table").inner_html() for number in range(2)]
    view.page.select_option("#by-language", "de")
    assert view.table().locator("thead th").count() == 2
    view.page.select_option("#by-language", "")
    after = [view.table(number).locator("table").inner_html() for number in range(2)]
    assert [_plain(text) for text in before] == [_plain(text) for text in after]
    assert view.messages == []


def _plain(text: str) -> str:
    """Return markup with coordinates in the format of the script, 75 instead of 75.0."""
    return re.sub(r'(c?[xd]="[^"]*?\d)\.0(?=[" ])', r"\1", text.replace(".0 10H", " 10H"))


def test_columns_sort_by_keyboard(browser: Any, site: Path) -> None:
    view = Opened(browser, site / "index.html").ready()
    names = view.models()
    assert names == sorted(names, key=str.casefold)
    head = view.table().locator("thead th").nth(1)
    assert head.get_attribute("aria-sort") is None
    head.locator("button").focus()
    view.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert view.table().locator("thead th").nth(0).get_attribute("aria-sort") is None
    assert view.values(0) == sorted(view.values(0))
    view.page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "descending"
    assert view.values(0) == sorted(view.values(0), reverse=True)
    ideal = 50.0
    view.page.select_option("#by-order", "distance")
    distances = [abs(value - ideal) for value in view.values(0)]
    assert distances == sorted(distances, reverse=True)
    view.table().locator("thead button").first.click()
    assert view.models() == names
    assert view.table().locator("tbody td:nth-child(2) .badge").count() == 3
    assert view.messages == []


def test_the_filters(browser: Any, site: Path) -> None:
    view = Opened(browser, site / "index.html").ready()
    page = view.page
    page.fill("#search", "series b")
    assert [view.models(number) for number in range(2)].count(["series/b"]) == 1
    assert page.locator("section.table:visible").count() == 1
    page.fill("#search", "nothing like that")
    assert "No model matches" in page.inner_text("#count")
    page.fill("#search", "")
    assert page.locator("section.table:visible").count() == 2
    page.select_option("#by-family", "alpha")
    shown = [name for number in range(2) for name in view.models(number)]
    assert shown == ["series/a", "series/b"]
    page.select_option("#by-family", "")
    page.select_option("#by-place", "stereoset/intersentence")
    heads = view.table().locator("thead button bdi").all_inner_texts()
    assert heads == ["stereoset/intersentence"] * 4
    page.select_option("#by-language", "fr")
    assert view.table().locator("thead th").count() == 2
    page.select_option("#by-section", "1")
    assert page.locator("section.table:visible h2").all_inner_texts() == [
        page.locator("#by-section option").nth(2).inner_text()
    ]
    assert view.messages == []


def test_further_columns(browser: Any, site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With four of six columns at once, the next page has two columns and no further button."""
    monkeypatch.setattr("tiltmeter.cluster.board.site_pages.SHOWN_COLUMNS", 4)
    write_board([site.parent / "runs"], tmp_path / "site")
    view = Opened(browser, tmp_path / "site" / "index.html").ready()
    table = view.table()
    assert table.locator(".range").inner_text() == "Columns 1–4 of 6"
    assert table.locator(".previous").is_hidden()
    table.locator(".next").click()
    assert table.locator(".range").inner_text() == "Columns 5–6 of 6"
    assert table.locator("thead button span").all_inner_texts() == ["Spanish", "French"]
    assert table.locator(".next").is_hidden()
    assert view.page.evaluate("document.activeElement.className") == "scroll"
    table.locator(".previous").click()
    assert table.locator("thead th").count() == 5
    view.page.select_option("#by-place", "stereoset")
    assert table.locator(".range").inner_text() == "4 columns"
    assert view.messages == []


def test_hostile_names_are_text(browser: Any, site: Path) -> None:
    view = Opened(browser, site / "index.html").ready()
    view.page.fill("#search", "<script>")
    assert [name for number in range(2) for name in view.models(number)] == [HOSTILE[:60] + "…" + name_end(view)]
    view.page.locator("section.table:visible tbody th a").click()
    view.page.wait_for_selector("h1")
    assert "<script>" in view.page.inner_text("h1")
    assert view.page.evaluate("window.hacked") is None
    assert view.messages == []


def name_end(view: Opened) -> str:
    """Return the suffix of a shortened name."""
    return str(view.page.locator("section.table:visible tbody th a").inner_text()).partition("…")[2]


def test_the_first_table_works_without_scripts(browser: Any, site: Path) -> None:
    view = Opened(browser, site / "index.html", java_script_enabled=False)
    assert view.page.locator("table.board").first.locator("tbody tr").count() == 3
    assert view.page.get_by_text("need JavaScript").is_visible()
    assert view.page.locator("#filters").is_hidden()
    view.page.locator("table.board tbody th a").first.click()
    assert view.page.locator("table.summary tbody tr").count() > 5
