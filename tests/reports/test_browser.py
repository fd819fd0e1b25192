"""The report in Chromium."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.reports import hostile, made
from tests.reports.chromium import chromium, why_not
from tiltmeter.reports.report_page import make_report

pytestmark = [pytest.mark.slow, pytest.mark.skipif(why_not() is not None, reason=why_not() or "")]


@dataclass
class Opened:
    """A page opened from disk, with its console messages and requests."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def quiet(self) -> bool:
        return not self.messages and not self.requests

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
    with chromium() as view:
        yield view


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    runs = [made.association(["ada", "bea"]), made.pairs(["ada"]), made.gest(["ada"]), made.translations(["mt"])]
    path.write_text(make_report([(str(n), run) for n, run in enumerate(runs)])[0], encoding="utf-8")
    return path


def opened(browser: Any, path: Path, width: int = 1280, scheme: str = "light") -> Opened:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    view = Opened(context.new_page())
    view.page.on("console", lambda message: view.messages.append(message.text))
    view.page.on("pageerror", lambda error: view.messages.append(str(error)))
    view.page.on("request", lambda request: None if request.url == path.as_uri() else view.requests.append(request.url))
    view.page.goto(path.as_uri())
    view.page.wait_for_selector("html[data-ready]")
    return view


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_it_opens_quietly_and_draws_every_figure(browser: Any, report: Path, width: int, scheme: str) -> None:
    view = opened(browser, report, width, scheme)
    heading, answer = view.page.locator("h1"), view.page.locator("table.answer")
    assert heading.inner_text().endswith("stereotypes")
    # The answer is on the first screen, and all summaries can be found without much scrolling.
    assert answer.bounding_box()["y"] < 500
    assert width < 1280 or view.page.evaluate("document.getElementById('items').getBoundingClientRect().top") < 7_500
    view.page.evaluate("document.querySelectorAll('details').forEach((folded) => { folded.open = true; })")
    view.page.wait_for_function("!document.querySelector('.chart:not([data-drawn]):not(.failed)')")
    charts = view.page.locator(".chart")
    assert charts.count() > 8
    assert view.page.locator(".chart[data-drawn] svg .mark-symbol, .chart[data-drawn] svg .mark-rect").count() > 8
    assert view.page.locator(".chart[data-drawn]").count() == charts.count()
    # Wide tables scroll inside their boxes; the page itself does not, even with all items open.
    view.open_items()
    assert view.overflow() <= 0
    for box in charts.all():
        svg, outer = box.locator("svg").first.bounding_box(), box.bounding_box()
        assert svg["width"] <= outer["width"] + 1
    assert view.quiet(), (view.messages, view.requests)


def test_items_stay_hidden_until_they_are_asked_for(browser: Any, report: Path) -> None:
    view = opened(browser, report)
    assert view.page.locator("#explorer").is_hidden()
    assert view.page.locator(".item").count() == 0
    view.open_items()
    assert view.page.locator("#gate").is_hidden()
    assert view.page.locator(".item").count() == 20
    view.page.click("#more")
    assert view.page.locator(".item").count() == 40


def test_the_filters(browser: Any, report: Path) -> None:
    view = opened(browser, report)
    view.open_items()
    page = view.page
    assert view.count() == 80  # the first of the benchmarks: their preferences have different units
    page.select_option("#by-language", "German")
    assert view.count() == 40
    page.select_option("#attribute-bias_type", "gender")
    assert view.count() == 10
    assert set(page.locator(".item .meta span:nth-child(4)").all_inner_texts()) == {"gender"}
    page.fill("#search", "großmutter")
    assert 0 < view.count() < 10
    page.fill("#search", "no such word anywhere")
    assert page.inner_text("#count") == "No item matches."
    page.fill("#search", "")
    page.select_option("#attribute-bias_type", "")
    target = page.locator("#attribute-target option").nth(1).get_attribute("value")
    page.select_option("#attribute-target", target)
    assert set(page.locator(".item .meta span:nth-child(5)").all_inner_texts()) == {target}
    page.select_option("#attribute-target", "")
    page.select_option("#by-language", "")
    page.select_option("#by-set", "starter-gest, template-3")
    page.select_option(
        "#attribute-stereotype", page.locator("#attribute-stereotype option").nth(1).get_attribute("value")
    )
    assert view.count() == 4
    assert view.quiet(), view.messages


def test_the_strongest_preferences_in_both_directions(browser: Any, report: Path) -> None:
    view = opened(browser, report)
    view.open_items()

    def badges() -> list[str]:
        return [str(text) for text in view.page.locator(".item .badge").all_inner_texts()]

    first = badges()
    assert all(text.endswith("× towards") for text in first)
    sizes = [float(text.split("×")[0]) for text in first]
    assert sizes == sorted(sizes, reverse=True)
    view.page.select_option("#by-order", "against")
    assert all(text.endswith("× against") for text in badges())
    view.page.select_option("#by-model", "bea")
    assert badges() != first


def test_pointing_at_a_mark_says_what_it_is(browser: Any, report: Path) -> None:
    view = opened(browser, report)
    view.page.locator("#starter-tilt-map").scroll_into_view_if_needed()
    view.page.locator("#starter-tilt-map .mark-symbol path[fill^='#']").first.hover(force=True)
    assert "SS" in view.page.inner_text("#tip")
    assert view.quiet(), view.messages


def test_dark_is_dark_and_paper_is_white(browser: Any, report: Path) -> None:
    view = opened(browser, report, scheme="dark")

    def colours() -> list[str]:
        label = "getComputedStyle(document.querySelector('.role-axis-label text')).fill"
        got: list[str] = view.page.evaluate(f"[getComputedStyle(document.body).backgroundColor, {label}]")
        return got

    assert colours() == ["rgb(17, 20, 24)", "rgb(163, 171, 183)"]
    view.page.emulate_media(media="print")
    assert colours() == ["rgb(255, 255, 255)", "rgb(68, 68, 68)"]
    assert view.page.locator("nav").is_hidden()
    assert view.page.pdf()[:4] == b"%PDF"


@pytest.mark.parametrize("width", [1280, 390])
def test_a_hostile_data_set_runs_nothing_and_breaks_nothing(browser: Any, tmp_path: Path, width: int) -> None:
    path = tmp_path / "report.html"
    path.write_text(make_report([("<script>run", hostile.result(tmp_path))])[0], encoding="utf-8")
    view = opened(browser, path, width)
    view.open_items()
    view.page.locator(".mark-symbol path[fill^='#']").first.hover(force=True)
    assert view.page.evaluate("window.hacked") is None
    assert view.page.locator("main img, main script, .item script").count() == 0
    assert "<script>" in view.page.inner_text("#list")
    assert view.overflow() <= 0
    assert view.page.locator(".failed").count() == 0
    assert view.quiet(), view.messages


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
    view = opened(browser, path)
    view.open_items()
    assert view.count() == 21_142
    assert view.quiet(), view.messages


def test_the_main_table_is_not_cut_off_and_shows_verdicts_on_a_phone(browser: Any, tmp_path: Path) -> None:
    """With long names of models: at 1280 px no column is hidden, at 390 px the verdict is on the screen."""
    path = tmp_path / "report.html"
    names = ["some-organisation_a-rather-long-name-of-a-model", "b"]
    result = made.association(names, "starter")
    path.write_text(make_report([("full", result)])[0], encoding="utf-8")
    wide = browser.new_page(viewport={"width": 1280, "height": 900})
    wide.goto(path.as_uri())
    region = wide.locator(".scroll:has(> table.summary)").first
    assert region.evaluate("it => it.scrollWidth - it.clientWidth") <= 0
    assert wide.locator("table.summary tr.part").count() == 2 * 5 * 2  # two parts of five languages, of each model
    narrow = browser.new_page(viewport={"width": 390, "height": 900})
    narrow.goto(path.as_uri())
    for badge in narrow.locator("table.summary .badge").all()[:6]:
        box = badge.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 390
