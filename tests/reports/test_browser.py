"""The report in a real browser."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.reports import hostile, made
from tests.reports.chromium import chromium, why_not
from tiltmeter.reports.html import make_report

pytestmark = [pytest.mark.slow, pytest.mark.skipif(why_not() is not None, reason=why_not() or "")]


@dataclass
class Opened:
    """A page that was opened from disk, and everything it said or asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def quiet(self) -> bool:
        return not self.said and not self.asked

    def overflow(self) -> int:
        width: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return width

    def open_items(self) -> None:
        self.page.click("#open-items")
        self.page.wait_for_selector(".item")

    def count(self) -> int:
        return int(self.page.inner_text("#count").split()[0].replace(",", ""))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    runs = [made.association(["ada", "bea"]), made.pairs(["ada"]), made.gest(["ada"]), made.translations(["mt"])]
    path.write_text(make_report([(str(n), run) for n, run in enumerate(runs)])[0], encoding="utf-8")
    return path


def opened(browser: Any, path: Path, width: int = 1280, scheme: str = "light") -> Opened:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    found = Opened(context.new_page())
    found.page.on("console", lambda message: found.said.append(message.text))
    found.page.on("pageerror", lambda error: found.said.append(str(error)))
    found.page.on("request", lambda request: None if request.url == path.as_uri() else found.asked.append(request.url))
    found.page.goto(path.as_uri())
    found.page.wait_for_selector("html[data-ready]")
    return found


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_it_opens_quietly_and_draws_every_figure(browser: Any, report: Path, width: int, scheme: str) -> None:
    found = opened(browser, report, width, scheme)
    charts = found.page.locator(".chart")
    assert charts.count() > 8
    assert found.page.locator(".chart[data-drawn] svg .mark-symbol, .chart[data-drawn] svg .mark-rect").count() > 8
    assert found.page.locator(".chart[data-drawn]").count() == charts.count()
    # Wide tables scroll inside their boxes; the page itself does not, items and all.
    found.open_items()
    assert found.overflow() <= 0
    for box in charts.all():
        svg, outer = box.locator("svg").first.bounding_box(), box.bounding_box()
        assert svg["width"] <= outer["width"] + 1
    assert found.quiet(), (found.said, found.asked)


def test_items_stay_hidden_until_they_are_asked_for(browser: Any, report: Path) -> None:
    found = opened(browser, report)
    assert found.page.locator("#explorer").is_hidden()
    assert found.page.locator(".item").count() == 0
    found.open_items()
    assert found.page.locator("#gate").is_hidden()
    assert found.page.locator(".item").count() == 20
    found.page.click("#more")
    assert found.page.locator(".item").count() == 40


def test_the_filters(browser: Any, report: Path) -> None:
    found = opened(browser, report)
    found.open_items()
    page = found.page
    assert found.count() == 80  # the first of the benchmarks: their leans are of different kinds
    page.select_option("#by-language", "German")
    assert found.count() == 40
    page.select_option("#by-bias", "gender")
    assert found.count() == 10
    assert set(page.locator(".item .meta span:nth-child(4)").all_inner_texts()) == {"gender"}
    page.fill("#search", "großmutter")
    assert 0 < found.count() < 10
    page.fill("#search", "no such word anywhere")
    assert page.inner_text("#count") == "No item is like that."
    page.fill("#search", "")
    page.select_option("#by-bias", "")
    target = page.locator("#by-target option").nth(1).get_attribute("value")
    page.select_option("#by-target", target)
    assert set(page.locator(".item .meta span:nth-child(5)").all_inner_texts()) == {target}
    page.select_option("#by-target", "")
    page.select_option("#by-language", "")
    page.select_option("#by-set", "starter-gest, template-3")
    page.select_option("#by-stereotype", page.locator("#by-stereotype option").nth(1).get_attribute("value"))
    assert found.count() == 4
    assert found.quiet(), found.said


def test_the_strongest_leanings_both_ways(browser: Any, report: Path) -> None:
    found = opened(browser, report)
    found.open_items()

    def badges() -> list[str]:
        return [str(text) for text in found.page.locator(".item .badge").all_inner_texts()]

    first = badges()
    assert all(text.endswith("× towards") for text in first)
    sizes = [float(text.split("×")[0]) for text in first]
    assert sizes == sorted(sizes, reverse=True)
    found.page.select_option("#by-order", "against")
    assert all(text.endswith("× against") for text in badges())
    found.page.select_option("#by-model", "bea")
    assert badges() != first


def test_pointing_at_a_mark_says_what_it_is(browser: Any, report: Path) -> None:
    found = opened(browser, report)
    found.page.locator("#starter-tilt-map").scroll_into_view_if_needed()
    found.page.locator("#starter-tilt-map .mark-symbol path[fill^='#']").first.hover(force=True)
    assert "SS" in found.page.inner_text("#tip")
    assert found.quiet(), found.said


def test_dark_is_dark_and_paper_is_white(browser: Any, report: Path) -> None:
    found = opened(browser, report, scheme="dark")

    def colours() -> list[str]:
        label = "getComputedStyle(document.querySelector('.role-axis-label text')).fill"
        got: list[str] = found.page.evaluate(f"[getComputedStyle(document.body).backgroundColor, {label}]")
        return got

    assert colours() == ["rgb(17, 20, 24)", "rgb(163, 171, 183)"]
    found.page.emulate_media(media="print")
    assert colours() == ["rgb(255, 255, 255)", "rgb(68, 68, 68)"]
    assert found.page.locator("nav").is_hidden()
    assert found.page.pdf()[:4] == b"%PDF"


@pytest.mark.parametrize("width", [1280, 390])
def test_a_hostile_data_set_runs_nothing_and_breaks_nothing(browser: Any, tmp_path: Path, width: int) -> None:
    path = tmp_path / "report.html"
    path.write_text(make_report([("<script>run", hostile.result(tmp_path))])[0], encoding="utf-8")
    found = opened(browser, path, width)
    found.open_items()
    found.page.locator(".mark-symbol path[fill^='#']").first.hover(force=True)
    assert found.page.evaluate("window.hacked") is None
    assert found.page.locator("main img, main script, .item script").count() == 0
    assert "<script>" in found.page.inner_text("#list")
    assert found.overflow() <= 0
    assert found.page.locator(".failed").count() == 0
    assert found.quiet(), found.said


def test_without_scripts_the_tables_are_there(browser: Any, report: Path) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(report.as_uri())
    assert page.locator("table.summary").count() == 4
    assert page.get_by_text("need JavaScript").is_visible()


def test_four_models_in_five_languages_stay_small(
    browser: Any, tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    path = tmp_path / "report.html"
    result = made.association(["ada", "bea", "cleo", "dora"], "stereoset")
    path.write_text(make_report([("full", result)])[0], encoding="utf-8")
    assert path.stat().st_size < 8_000_000
    found = opened(browser, path)
    found.open_items()
    assert found.count() == 21_142
    assert found.quiet(), found.said
