"""The overview of many languages in a report, by language family."""

import re
from dataclasses import replace
from statistics import median

import pytest

from tests.reports import made
from tests.reports.chromium import chromium, why_not
from tests.support.messages import assert_mentions
from tiltmeter.datasets import DATASETS
from tiltmeter.datasets.language_facts import get_language_facts
from tiltmeter.reports.benchmark_sections import build_sections
from tiltmeter.reports.combined_runs import combine_runs
from tiltmeter.reports.language_overview import FEWEST_LANGUAGES, LanguageOverview, build_overviews
from tiltmeter.reports.report_page import make_report

FORTY = [
    "ar",
    "be",
    "bg",
    "bn",
    "ca",
    "cs",
    "da",
    "de",
    "el",
    "en",
    "es",
    "et",
    "eu",
    "fi",
    "fr",
    "ga",
    "gl",
    "he",
    "hi",
    "hr",
    "hu",
    "id",
    "it",
    "ja",
    "ko",
    "lt",
    "lv",
    "mt",
    "nl",
    "no",
    "pl",
    "pt",
    "ro",
    "ru",
    "sk",
    "sl",
    "sv",
    "tr",
    "uk",
    "xx",
]


@pytest.fixture(scope="module")
def overview() -> LanguageOverview:
    (section,) = build_sections(combine_runs([("demo", made.many_languages(["ada"], FORTY))]))
    (found,) = section.overviews
    return found


@pytest.fixture(scope="module")
def page() -> str:
    return make_report([("demo", made.many_languages(["ada"], FORTY))])[0]


def test_every_language_of_the_catalogue_has_a_name_and_attributes() -> None:
    codes = {code for data in DATASETS.values() for code in data.languages}
    assert {code for code in codes if len(get_language_facts(code).attributes()) < 3} == set()


def test_each_language_is_there_once_in_its_family(overview: LanguageOverview) -> None:
    lines = [line for group in overview.groups for line in group.lines]
    assert sorted(line.verdict.record.language for line in lines) == sorted(FORTY)
    by_name = {group.name: group for group in overview.groups}
    assert {line.verdict.record.language for line in by_name["Uralic"].lines} == {"et", "fi", "hu"}
    # Families with one language and unknown languages are grouped at the end.
    assert overview.groups[-1].name == "Others"
    assert {"xx", "el", "tr"} <= {line.verdict.record.language for line in overview.groups[-1].lines}
    sizes = [len(group.lines) for group in overview.groups[:-1]]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) > 1
    for group in overview.groups:
        values = [line.verdict.record.value for line in group.lines]
        assert values == sorted(values, reverse=True)


def test_counts_and_medians_are_those_of_the_records(overview: LanguageOverview) -> None:
    records = {line.verdict.record.language: line.verdict for group in overview.groups for line in group.lines}
    sides = [v.verdict.side for v in records.values() if v.verdict.kind == "significant"]
    assert overview.counts == {
        "towards": sides.count("towards"),
        "against": sides.count("against"),
        "neither": len(FORTY) - len(sides),
    }
    assert overview.counts["towards"]
    assert overview.counts["against"]
    rows = {(row.attribute, row.value): row for row in overview.attributes}
    cyrillic = [records[code].record.value for code in ("be", "bg", "ru", "uk")]
    row = rows["script", "Cyrillic"]
    assert (row.languages, row.median) == (4, f"{median(cyrillic):.2f}")
    assert row.range == f"{min(cyrillic):.2f} – {max(cyrillic):.2f}"
    assert rows["grammatical gender", "none"].languages == sum(get_language_facts(c).gender == "none" for c in FORTY)


@pytest.mark.parametrize("number", [FEWEST_LANGUAGES - 1, FEWEST_LANGUAGES])
def test_few_languages_have_a_table_alone(number: int) -> None:
    (section,) = build_sections(combine_runs([("demo", made.many_languages(["ada"], FORTY[:number], 3))]))
    assert len(section.overviews) == (number == FEWEST_LANGUAGES)


def test_measures_that_compare_groups_have_no_overview(overview: LanguageOverview) -> None:
    lines = [line for group in overview.groups for line in group.lines]
    compared = [
        replace(
            line, verdict=replace(line.verdict, record=replace(line.verdict.record, measure="agreement difference"))
        )
        for line in lines
    ]
    assert len(build_overviews(lines)) == 1
    assert not build_overviews(compared)


def test_the_headline_counts_languages_and_names_no_part(page: str) -> None:
    lead = re.search(r"<h1[^>]*><bdi>(.*?)</bdi>", page)
    assert lead is not None
    assert_mentions(lead[1], "towards stereotypes", "a factor of 1.22")
    assert re.search(r"\d+ languages \(most in ", lead[1])
    assert len(lead[1]) < 600
    assert "(frame)" not in page


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_all_languages_fit_a_screen_and_nothing_is_cut_off_on_a_telephone(page: str) -> None:
    with chromium() as browser:
        for width in (1280, 390):
            tab = browser.new_page(viewport={"width": width, "height": 900})
            tab.set_content(page)
            assert tab.locator("figure.languages li").count() == len(FORTY)
            assert tab.evaluate("document.documentElement.scrollWidth") == width
            cut = "(all) => all.filter((e) => e.scrollWidth > e.clientWidth + 1).length"
            assert tab.locator(".family li > span").evaluate_all(cut) == 0
            if width == 1280:
                assert tab.locator(".families").bounding_box()["height"] < 700
