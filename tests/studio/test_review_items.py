"""The list of items over HTTP: filters, search, order, and decisions on identical proposals."""

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perf.kills_review import REVIEWERS
from perf.reviewed_project import make_project
from tests.studio.client import client_of, htmx, studio_on
from tests.studio.reviewing import P, decide, following, people
from tests.support.messages import assert_mentions
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.project import open_project
from tiltmeter.making.project_settings import read_settings, write_settings
from tiltmeter.making.review import review_list
from tiltmeter.making.review.assignment import assign_items
from tiltmeter.making.review.assignment_tables import ReviewerProfile
from tiltmeter.studio.reviewer_accounts import add_studio_reviewer
from tiltmeter.studio.studio_config import build_shared_config

# Items 0 to 5 have a proposal for another verb; in item 5 the proposal has no target term.
PROPOSED = 6


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / ".cache"))
    make_project(tmp_path, 12, REVIEWERS, agreeing=1, per_item=1)
    with open_project(tmp_path / "project") as project, project.store.begin_transaction():
        texts = project.store.list_texts("text")
        for entry in project.store.list_items()[:PROPOSED]:
            proposal = texts[entry.id]["context"].replace(" era ", " fue ")
            if entry.id == "i5":
                proposal = f"la persona {proposal}".replace(texts[entry.id]["target_term"], "")
            finding = RepairFinding(entry.id, "context", "verb", "proposed", "Another verb?", "", (proposal,))
            project.store.add_finding(finding, "repair")
    return tmp_path


def listed(client: Any, query: str = "") -> list[str]:
    """Return the ids of the listed items."""
    page = client.get(f"/review/items/list?{P}&{query}").text
    return re.findall(r"data-row href=\"[^\"]*item=([^\"]*)\"", page)


def keys_of(page: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"hx-get=\"[^\"]*key=([0-9a-f]+)\"", page)))


def preview_of(client: Any, key: str) -> tuple[str, dict[str, str]]:
    """Return the preview of a group, and the fields of its selectable items."""
    page = client.get(f"/review/group?{P}&key={key}").text
    return page, dict(re.findall(r'name="(item:[^"]+)" value="([^"]+)"', page))


def test_filters_search_and_order(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana", "Ida") as (ana, ida):
        everything = listed(ana)
        assert everything == [f"i{number}" for number in range(12)]
        decide(ana, following(ana), "drop")
        assert listed(ana, "mine=done") == ["i0"]
        assert listed(ana, "mine=open") == everything[1:]
        assert listed(ida, "mine=done") == []
        assert listed(ana, "state=agreed") == listed(ana, "reviewer=Ana") == ["i0"]
        assert listed(ana, "reason=verb") == everything[:PROPOSED]
        assert listed(ana, "search=NUMBER7.") == ["i7"]
        assert listed(ana, "search=number7 no-such-word") == []
        assert listed(ana, "subject=cook") == [item for item in everything if int(item[1:]) in cooks(ana)]
        assert listed(ana, "descending=1") == everything[::-1]
        titles = re.findall(r"data-row[^>]*>([^<]*)<", ana.get(f"/review/items/list?{P}&sort=title").text)
        assert titles == sorted(titles, key=str.casefold)
        page = ana.get(f"/review/items?{P}&reason=verb&sort=title").text
        assert '<option value="verb" selected>verb (6)</option>' in page
        assert ana.get(f"/review/items/list?{P}&quality=x").status_code == 400


def cooks(client: Any) -> set[int]:
    page = client.get(f"/review/items/list?{P}").text
    return {int(number) for number in re.findall(r"number(\d+)\.</a></th><td><bdi>cook</bdi>", page)}


def test_the_list_has_pages(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_list, "PAGE", 5)
    with people(studio_on(workspace), "Ana") as (ana,):
        assert listed(ana, "start=5") == [f"i{number}" for number in range(5, 10)]
        assert listed(ana, "start=1000000") == ["i10", "i11"]


def test_estimated_quality_is_listed_if_there_are_estimates(workspace: Path) -> None:
    with open_project(workspace / "project") as project, project.store.begin_transaction():
        project.store.set_estimated_qualities({})
    with people(studio_on(workspace), "Ana") as (ana,):
        assert "Estimated quality" not in ana.get(f"/review/items?{P}").text
    with open_project(workspace / "project") as project, project.store.begin_transaction():
        project.store.set_estimated_qualities({"i3": 0.25, "i1": 0.5})
    with people(studio_on(workspace), "Ana") as (ana,):
        assert listed(ana, "sort=quality")[:3] == ["i3", "i1", "i0"]
        assert listed(ana, "quality=0.3") == ["i3"]
        assert_mentions(ana.get(f"/review/items?{P}").text, "Estimated quality", "0.25")


def test_reviewers_do_not_see_the_progress_of_others(workspace: Path) -> None:
    add_studio_reviewer(workspace, "Zoe", "correct horse")
    studio = studio_on(workspace, build_shared_config(workspace, "review.example.org"))
    zoe = client_of(studio, "reviewer", "Zoe")
    with people(studio_on(workspace), "Ana") as (ana,):
        before = zoe.get(f"/review/items?{P}").text
        decide(ana, following(ana), "drop")
        try:
            assert zoe.get(f"/review/items?{P}").text == before
            assert len(listed(zoe, "reviewer=Ana&state=agreed")) == 12
        finally:
            studio.projects.close()


def test_identical_proposals_are_decided_together(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana", "Eva") as (ana, eva):
        (key, *_) = keys_of(ana.get(f"/review/groups?{P}").text)
        page, items = preview_of(ana, key)
        assert "<del>era</del><ins>fue</ins>" in page
        assert len(items) >= 2
        chosen = dict(list(items.items())[:2])
        done = htmx(ana, f"/review/group/decide?{P}", {"key": key, "choice": "use", "seconds": "8", **chosen})
        assert "Decisions stored: 2." in done.text
        # The same request again stores nothing twice.
        again = htmx(ana, f"/review/group/decide?{P}", {"key": key, "choice": "use", **chosen})
        assert_mentions(again.text, "stored: 0", "Not stored: 2", "already decided")
        ids = [name.removeprefix("item:") for name in chosen]
        rest = {name: shown for name, shown in items.items() if name not in chosen}
        if rest:
            kept = htmx(ana, f"/review/group/decide?{P}", {"key": key, "choice": "keep", **rest})
            assert f"Decisions stored: {len(rest)}." in kept.text
        assert htmx(ana, f"/review/group/decide?{P}", {"key": key}).status_code == 400
        assert eva.get(f"/review/group?{P}&key={key}").status_code == 400
    with open_project(workspace / "project") as project:
        made = {one.item: one for one in project.store.list_decisions()}
        assert all(" fue " in made[item].texts["context"] and made[item].verdict == "edit" for item in ids)
        assert all(made[name.removeprefix("item:")].verdict == "accept" for name in rest)
        assert project.store.sum_decision_times() == {"Ana": (2, 8.0)}


def test_items_that_need_a_single_decision_are_left_out(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana", "Eva") as (ana, eva):
        (key, *_) = keys_of(ana.get(f"/review/groups?{P}").text)
        _, items = preview_of(ana, key)
        first, second, *_ = (name.removeprefix("item:") for name in items)
        # One item changes after the preview, another is shown to Eva meanwhile.
        with open_project(workspace / "project") as project, project.store.begin_transaction():
            project.store.set_text(first, "text", "context", "el BLANK.", step="repair", by="x", why="")
        while f'value="{second}"' not in (shown := following(eva)):
            decide(eva, shown, "drop")
        done = htmx(ana, f"/review/group/decide?{P}", {"key": key, "choice": "use", **items})
        assert "Not stored: 2." in html.unescape(done.text)
    with open_project(workspace / "project") as project:
        decided = {one.item for one in project.store.list_decisions() if one.reviewer == "Ana"}
        assert not decided & {first, second}


def test_a_warning_about_the_proposed_text_is_shown_in_the_preview(workspace: Path) -> None:
    with open_project(workspace / "project") as project, project.store.begin_transaction():
        for item in ("i6", "i7"):
            term = project.store.list_texts("text", item)[item]["target_term"]
            text = project.store.list_texts("text", item)[item]["context"]
            project.store.set_text(
                item, "text", "context", text.replace(term, "cocinero"), step="repair", by="x", why=""
            )
            finding = RepairFinding(item, "context", "noun", "proposed", "?", "", ("la persona era BLANK.",))
            project.store.add_finding(finding, "repair")
    with people(studio_on(workspace), "Ana") as (ana,):
        pages = [preview_of(ana, key) for key in keys_of(ana.get(f"/review/groups?{P}").text)]
        for page, items in pages:
            if "la persona" in page:
                assert items == {}
                assert "Needs a single decision" in page


def test_a_notice_comes_before_the_first_item_once(workspace: Path) -> None:
    (workspace / "project" / "guidelines.md").write_text("Keep the register.", encoding="utf-8")
    write_settings(workspace / "project", replace(read_settings(workspace / "project"), guidelines="guidelines.md"))
    with people(studio_on(workspace), "Ute") as (ute,):
        for _ in range(2):
            notice = htmx(ute, f"/review/next?{P}").text
            assert_mentions(notice, "offensive", "Keep the register.", "/review/start")
            assert 'name="item"' not in notice
        assert 'name="item" value="i0"' in htmx(ute, f"/review/start?{P}").text
        assert 'name="item" value="i0"' in htmx(ute, f"/review/next?{P}").text


def test_times_and_the_forecast(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana") as (ana,):
        page = following(ana)
        for seconds in ("10", "20", "30", "1e9", "x", "-5", "nan", "40"):
            page = decide(ana, page, seconds=seconds).text
        # 10, 20, 30 and 40 seconds, and a wrong value that counts as an hour.
        assert re.search(r"8 decided, 4 remaining, about 0\.8 hours", page)
        assert_mentions(ana.get(f"/review/agreement?{P}").text, "Hours left", "740.0", "0.8 hours of review")
    with open_project(workspace / "project") as project:
        assert project.store.sum_decision_times() == {"Ana": (5, 3700.0)}


def test_the_calibration_round(workspace: Path) -> None:
    with open_project(workspace / "project") as project:
        assign_items(project, [ReviewerProfile("Ana"), ReviewerProfile("Eva")], calibration=2)
    add_studio_reviewer(workspace, "Zoe", "correct horse")
    shared = studio_on(workspace, build_shared_config(workspace, "review.example.org"))
    zoe = client_of(shared, "reviewer", "Zoe")
    with people(studio_on(workspace), "Ana", "Eva") as (ana, eva):
        assert htmx(ana, f"/review/open?{P}").status_code == 400
        for client in (ana, eva):
            assert_mentions(
                ana.get(f"/review/agreement?{P}").text, "Calibration round", "same 2 items", "can be opened"
            )
            page = following(client)
            for _ in range(2):
                page = decide(client, page).text
            assert "finished the calibration round" in page
        assert "Open the other items" in ana.get(f"/review/agreement?{P}").text
        try:
            assert "Only adjudicators" in htmx(zoe, f"/review/open?{P}").text
        finally:
            shared.projects.close()
        assert htmx(ana, f"/review/open?{P}").headers["HX-Redirect"] == f"/review/agreement?{P}"
        assert 'name="item"' in following(ana)
