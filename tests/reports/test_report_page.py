import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from tests.reports import hostile, made
from tests.runs.made import association_scores, chosen_scores, gest_scores, pair_scores, run, winobias_scores
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.cli import app
from tiltmeter.errors import UsageError
from tiltmeter.forms.gest import STEREOTYPES
from tiltmeter.reports import item_explorer
from tiltmeter.reports.report_files import get_report_path
from tiltmeter.reports.report_page import make_report


@pytest.fixture(scope="module")
def page() -> str:
    return make_report([("demo", made.association(["ada", "bea"]))])[0]


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the content of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text = ""
        self._in_script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            attributes, before = self.scripts[-1]
            self.scripts[-1] = (attributes, before + data)
        else:
            self.text += data


def unpacked(page: str) -> dict[str, object]:
    (packed,) = [text for attributes, text in Elements(page).scripts if attributes.get("id") == "packed"]
    content: dict[str, object] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return content


def test_nothing_is_loaded_and_only_our_own_scripts_may_run(page: str) -> None:
    elements = Elements(page)
    (policy,) = [a["content"] for t, a in elements.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    running = [text for attributes, text in elements.scripts if "type" not in attributes]
    for script in running:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert len(running) == policy.split(";")[1].count("sha256-") == 3
    for tag, attributes in elements.elements:
        assert not {"src", "srcset", "action", "background", "style"} & attributes.keys(), tag
        assert not any(name.startswith("on") for name in attributes), tag
        assert (attributes.get("href") or "#").startswith("#"), attributes


def test_what_a_report_says(page: str) -> None:
    text = Elements(page).text
    assert_mentions(text, "95% interval", "Tilt map", "SS by model", "By bias type", "offensive")
    assert_mentions(text, "a smoke test", "Cite: Tiltmeter", "made up to be left out", "the seed 20230714")
    assert_mentions(text, "intrasentence.en.jsonl", "Apache-2.0")


def words(html: str) -> str:
    """The text of a piece of HTML, without tags."""
    return re.sub(r"\s+", " ", Elements(html).text).strip()


def part_of(page: str, beginning: str, end: str) -> str:
    start = page.index(beginning)
    return page[start : page.index(end, start)]


def first_screen(page: str) -> str:
    return words(part_of(page, '<section class="hero"', "</section>"))


def method(page: str) -> str:
    return words(part_of(page, '<section id="method"', "</section>"))


def test_all_verdicts_stand_in_the_table_with_their_reasons() -> None:
    tables = [
        chosen_scores("biased", 60.0, n=800),
        chosen_scores("even", 50.4, n=1000),
        chosen_scores("inconclusive", 53.0, n=200),
        chosen_scores("torn", {"intrasentence": 60.0, "intersentence": 40.0}, n=600),
        chosen_scores("few", 55.0, n=20),
        chosen_scores("senseless", 60.0, n=400, sense=False),
    ]
    page, _ = make_report([("six", run(*tables))])
    table = part_of(page, '<table class="summary">', "</table>")
    rows = {words(row.split("</th>")[0]): words(row) for row in table.split("<tr>")[2:]}
    assert_mentions(rows["biased"], "significant bias towards stereotypes", "beyond 5 points")
    assert_mentions(rows["even"], "no bias", "±5 points")
    assert_mentions(rows["inconclusive"], "inconclusive", "400 items")
    assert_mentions(rows["few"], "too few items", "40 items")
    assert_mentions(rows["senseless"], "not interpretable", "LMS 50.0")
    contradictory = [words(row) for row in table.split("<tr>") if "<bdi>torn</bdi>" in row]
    assert len(contradictory) == 3  # the pooled row and both parts
    assert sum("contradictory" in row for row in contradictory) == 1
    # ICAT is near 100, because the parts oppose each other.
    assert sum("(contradictory)" in row for row in contradictory) == 1
    numbers = part_of(page, "<summary>All numbers", "</details>").split("<tr>")
    senseless = [re.findall("<td[^>]*>(.*?)</td>", row) for row in numbers if "<bdi>senseless</bdi>" in row]
    assert senseless
    assert not any("".join(cells[9:11]) for cells in senseless)  # p says nothing about a model that guesses
    assert any("".join(cells[9:11]) for row in numbers if (cells := re.findall("<td[^>]*>(.*?)</td>", row)))
    lead = first_screen(page)
    assert_mentions(lead, "1 contradictory", "intrasentence towards stereotypes", "intersentence against")
    assert 'class="headline doubt"' in page


def test_every_target_term_is_in_a_table_with_the_warning() -> None:
    page, _ = make_report([("demo", run(chosen_scores(ss=55.0, n=60)))])
    terms = part_of(page, "SS of each target term", "</details>")
    assert_mentions(words(terms), "unreliable", "reliability .25")
    assert terms.count("<tr>") == 1 + 3 * 20  # parts and both together
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in terms.split("<tr>")[2:]]
    values = [float(row[4]) for row in cells]
    assert values == sorted(values, reverse=True)
    assert {row[8] for row in cells} <= {"too few items", "significant bias towards stereotypes", "inconclusive"}


def test_a_sample_is_called_a_sample() -> None:
    entry = {"benchmark": "stereoset", "part": "intrasentence", "language": "en", "items": 60, "available": 2106}
    scores = chosen_scores(ss=55.0, n=60, parts=["intrasentence"])
    page, _ = make_report([("demo", run(scores, data=[{**entry, "files": {}}]))])
    for text in (first_screen(page), method(page)):
        assert_mentions(text, "A sample: 60 of", "2,106 items", "stereoset/intrasentence:en (--limit)")
    whole, _ = make_report([("demo", run(scores, data=[{**entry, "items": 2106, "files": {}}]))])
    assert "A sample" not in words(whole)


def test_the_rule_is_explained(page: str) -> None:
    text = method(page)
    assert_mentions(text, "Holm's correction", "No bias beyond", "Inconclusive", "Too few items", "Not interpretable")
    assert_mentions(text, "what items share", "target")


def test_the_sentences_are_packed_away(page: str) -> None:
    assert "apple cake" not in page
    sets = unpacked(page)["sets"]
    assert isinstance(sets, list)
    assert sum(len(packed_set["items"]) for packed_set in sets) == 160
    assert any("apple cake" in str(text) for text in unpacked(page)["texts"])  # type: ignore[attr-defined]


def test_a_hostile_data_set_is_only_text(tmp_path: Path) -> None:
    page, _ = make_report([("<script>run", hostile.result(tmp_path))])
    assert len(page) < 2_000_000
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", page)
    assert "⟨U+202E⟩" in page
    elements = Elements(page)
    assert not [tag for tag, _ in elements.elements if tag == "img"]
    assert len(elements.scripts) == 5
    assert not any("hacked" in text for attributes, text in elements.scripts if "type" not in attributes)
    assert "{{ 7 * 7 }}" in elements.text
    assert all(len(str(text)) < 5_000 for text in unpacked(page)["texts"])  # type: ignore[attr-defined]


def test_without_the_texts_there_are_ids() -> None:
    page, _ = make_report([("demo", replace(made.pairs(["ada"]), texts=None))])
    assert unpacked(page)["texts"] == []


def test_the_weakest_preferences_are_left_out_where_there_are_too_many_items(monkeypatch: pytest.MonkeyPatch) -> None:
    result = made.association(["ada"])
    monkeypatch.setattr(item_explorer, "MOST_ITEMS", 20)
    monkeypatch.setattr(item_explorer, "FEWEST_ITEMS", 1)
    packed = item_explorer.build_explorer(result.scores, {}, modules={})
    assert packed is not None
    assert (packed.count, packed.left_out) == (20, 140)


@pytest.mark.parametrize("make", [made.pairs, made.gest, made.translations])
def test_other_forms_of_data(make) -> None:
    page, figures = make_report([("demo", make(["ada", "bea"]))])
    assert figures
    assert unpacked(page)["sets"]


def test_runs_of_all_forms_together() -> None:
    runs = [made.association(["ada"]), made.pairs(["ada"]), made.gest(["ada"]), made.translations(["mt"])]
    page, figures = make_report([(str(number), run) for number, run in enumerate(runs)])
    assert [slug for slug, _ in figures if slug == "gest-mt"]
    assert page.count('class="headline') == 4


def test_the_command(tmp_path: Path) -> None:
    run = made.association(["ada"], "starter:en").save(tmp_path / "run")
    result = CliRunner().invoke(app, ["report", str(run), "--figures", str(tmp_path / "figures")])
    assert result.exit_code == 0, result.output
    assert (run / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert len(list((tmp_path / "figures").iterdir())) == 6


def test_where_a_report_goes(tmp_path: Path) -> None:
    assert get_report_path([tmp_path], None) == tmp_path / "report.html"
    with raises_mentioning(UsageError, "several runs", "--out"):
        get_report_path([tmp_path, tmp_path], None)
    with raises_mentioning(UsageError, str(tmp_path), "is a folder", "--out"):
        get_report_path([tmp_path], tmp_path)


def test_the_items_are_packed_by_the_attributes_of_their_form() -> None:
    """Filters are the form's attributes except numbers; the direction is the sign of the item's weight."""
    gest = gest_scores(n=64).assign(family_words=lambda table: table["item"] == "7")
    winobias = winobias_scores(n=20)
    table = pd.concat([gest, winobias, association_scores().assign(length_difference=3)])
    modules = {"gest": "gest", "winobias": "winobias", "stereoset": "association"}
    packed = item_explorer.build_explorer(table, {}, modules=modules)
    assert packed is not None
    content = json.loads(gzip.decompress(base64.b64decode(packed.packed)))
    sets = {packed_set["benchmark"]: packed_set for packed_set in content["sets"]}

    def values(packed_set: dict[str, Any]) -> list[tuple[str, int, list[str]]]:
        words = content["words"]
        return [(words[item[0]], item[2], [words[at] for at in item[3]]) for item in packed_set["items"]]

    by_id = {str(row.item): int(row.stereotype) for row in gest.itertuples()}
    assert "stereotype" in sets["gest"]["attributes"]
    column = sets["gest"]["attributes"].index("stereotype")
    for identifier, direction, labels in values(sets["gest"]):
        number = by_id[identifier]
        assert labels[column] == f"{number} {STEREOTYPES[number]}"
        assert ("family words" if identifier == "7" else "no family words") in labels
        assert direction == (-1 if number <= 7 else 1)
    genders = {str(row.item): row.occupation_gender for row in winobias.itertuples()}
    assert sets["winobias"]["attributes"] == ["occupation", "occupation_gender"]
    for identifier, direction, labels in values(sets["winobias"]):
        assert labels[1] == genders[identifier]
        assert direction == (1 if genders[identifier] == "male" else -1)
    assert "length_difference" not in sets["stereoset"]["attributes"]
    assert {"bias_type", "target"} <= set(sets["stereoset"]["attributes"])


def test_one_bias_type_is_not_printed_beside_all_items() -> None:
    """If all pairs are about gender, the row of this bias type would repeat the number of all items."""
    result = run(pair_scores(), family="pairs")
    groups = {record.group for record in result.records if record.view == "bias_type"}
    page = make_report([("run", result)])[0]
    shown = re.findall(r"<td>bias_type</td>", page)
    assert bool(shown) == (len(groups) > 1)
    one = result.scores.assign(bias_type="gender")
    assert not re.findall(r"<td>bias_type</td>", make_report([("run", run(one, family="pairs"))])[0])


def test_a_report_on_translations_has_limits_and_citation_of_the_sentences() -> None:
    result = made.translations(["A"], ["sk"])
    data = tuple(replace(entry, source="gest-1.0") for entry in result.manifest.data)
    page, _ = make_report([("run", replace(result, manifest=replace(result.manifest, data=data)))])
    assert_mentions(page, "Limits and citations", "Women Are Beautiful", "a low yield", "not a low f_m")
