"""Protection of a review: links from other sites, reading without changes, and parallel requests."""

import io
import re
import sqlite3
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from tests.studio.client import client_of, htmx, studio_on
from tests.studio.reviewing import (
    BETTER,
    P,
    conflict,
    decide,
    following,
    hidden,
    item_of,
    people,
    settle,
    small_project,
)
from tests.support.messages import assert_mentions
from tests.support.patience import PATIENCE
from tiltmeter.making.project import open_project
from tiltmeter.studio.pages import adjudication, review
from tiltmeter.studio.reviewer_accounts import add_studio_reviewer
from tiltmeter.studio.studio_config import build_shared_config


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return small_project(tmp_path, monkeypatch)


def stored(workspace: Path) -> list[str]:
    database = sqlite3.connect(workspace / "project" / "project.sqlite")
    try:
        return list(database.iterdump())
    finally:
        database.close()


def in_conflict(*clients: Any) -> None:
    """Let one reviewer drop the first item and the others keep it."""
    for turn, client in enumerate(clients):
        decide(client, following(client), "keep" if turn else "drop")


def test_get_requests_change_nothing(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana", "Eva", "Ida") as (ana, eva, ida):
        in_conflict(ana, eva)
        ana.get(f"/review/project?{P}")
        before = stored(workspace)
        for route in review.STUDIO_PAGE.routes:
            assert isinstance(route, Route)
            if "GET" in (route.methods or ()) and route.path != "/review/copy":
                for client in (ana, ida):
                    for query in (P, f"{P}&item=i0", f"{P}&item=i2"):
                        assert client.get(f"{route.path}?{query}").status_code < 500
                assert stored(workspace) == before, route.path
        assert ida.get(f"/review/conflicts?{P}").status_code == 200


def test_a_download_is_recorded(workspace: Path) -> None:
    add_studio_reviewer(workspace, "Eva", "correct horse", is_adjudicator=True)
    studio = studio_on(workspace, build_shared_config(workspace, "review.example.org"))
    eva = client_of(studio, "reviewer", "Eva")
    with people(studio_on(workspace), "Ana") as (ana,):
        decide(ana, following(ana))
    try:
        archive = zipfile.ZipFile(io.BytesIO(eva.get(f"/review/copy?{P}").content))
        assert "project/project.sqlite" in archive.namelist()
        page = following(eva)
        assert item_of(page) == "i0"
        decide(eva, decide(eva, page).text)
    finally:
        studio.projects.close()
    with open_project(workspace / "project") as project:
        # Only Eva's decision on the item without other decisions is blind.
        assert [(one.reviewer, one.item) for one in project.store.list_blind_decisions()] == [
            ("Ana", "i0"),
            ("Eva", "i1"),
        ]


def test_the_download_of_a_broken_project_is_an_error(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana") as (ana,):
        (workspace / "project" / "project.sqlite").unlink()
        answer = ana.get(f"/review/copy?{P}")
        assert (answer.status_code, "project.sqlite" in answer.text) == (400, True)


def test_the_second_of_two_adjudicators_sees_the_new_decision(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana", "Eva", "Ida", "Ute") as (ana, eva, ida, ute):
        in_conflict(ana, eva)
        one, other = conflict(ida), conflict(ute)
        assert "conflict is settled." in settle(ida, one, take="Ana").text
        written = {"text:context": BETTER, "comment": "mine", "code": "odd-code", "why": "so"}
        late = settle(ute, other, verdict="edit", **written)
        assert late.status_code == 200
        assert_mentions(late.text, "not stored", "decisions on this item", "<bdi>Ida</bdi> (adjudicator): drop")
        field = re.search('<textarea[^>]*name="text:context"[^>]*>([^<]*)<', late.text)
        assert field is not None
        assert field[1].strip() == BETTER
        assert " hidden" not in field[0]
        for name in ("comment", "code", "why"):
            assert re.search(f'name="{name}"[^>]*value="{written[name]}"', late.text), name
        with open_project(workspace / "project") as project:
            assert [one.reviewer for one in project.store.list_decisions("i0") if one.adjudicates] == ["Ida"]
        # It can be settled again after the new decisions were shown.
        assert "conflict is settled." in settle(ute, late.text, verdict="edit", **{"text:context": BETTER}).text


def test_a_decision_that_was_withdrawn_meanwhile_is_not_used(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana", "Eva", "Ida") as (ana, eva, ida):
        in_conflict(ana, eva)
        page = conflict(ida)
        htmx(eva, f"/review/undo?{P}")
        late = settle(ida, page, take="Eva")
        assert "not stored" in late.text
        assert "<bdi>Eva</bdi>" not in late.text
        assert settle(ida, late.text, take="Ana").status_code == 400


@pytest.mark.parametrize(
    ("slow", "method", "path"),
    [
        ("summarise_review", "GET", "agreement"),
        ("publish_project", "POST", "published"),
        ("archive_project", "GET", "copy"),
    ],
)
def test_reviewers_do_not_wait_for_slow_requests(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, slow: str, method: str, path: str
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    work = getattr(adjudication, slow)

    def held(*given: Any, **named: Any) -> Any:
        begun.set()
        assert go_on.wait(PATIENCE)
        return work(*given, **named)

    monkeypatch.setattr(adjudication, slow, held)
    with people(studio_on(workspace), "Ana", "Ida") as (ana, ida), ThreadPoolExecutor(2) as threads:
        under_way = threads.submit(
            ida.request, method, f"/review/{path}?{P}", **({"data": {"open": "keep"}} if method == "POST" else {})
        )
        try:
            assert begun.wait(PATIENCE)
            answer = threads.submit(lambda: decide(ana, following(ana)).text).result(timeout=PATIENCE)
        finally:
            go_on.set()
        assert "Your decision is stored: accepted." in answer
        assert under_way.result().status_code in (200, 400)


def test_invalid_numbers_are_rejected(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana") as (ana,):
        for number in ("x", "-1", "9" * 30, "9" * 5000, "١", "1e3", ""):
            answer = htmx(ana, f"/review/answer?{P}", {"number": number, "answer": "No."})
            assert (answer.status_code, "whole number" in answer.text) == (400, True), number
            rated = htmx(ana, f"/review/rated?{P}", {"unit": "w", "task": "t", "step": number})
            assert rated.status_code == 400


def test_the_previous_item_is_found_among_many(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana") as (ana,):
        page = following(ana)
        for _ in range(3):
            page = decide(ana, page).text
        with open_project(workspace / "project") as project, project.store.begin_transaction():
            columns = {row[1] for row in project.store._db.execute("PRAGMA table_info(decisions)")}
            names = ", ".join(sorted(columns - {"id", "item"}))
            project.store._db.executemany(
                f"INSERT INTO decisions (item, {names}) SELECT ?, {names} FROM decisions WHERE item = 'i2'",
                [(f"gone {number}",) for number in range(1200)],
            )
        assert item_of(ana.get(f"/review/previous?{P}&item=i2").text) == "i1"
        assert item_of(ana.get(f"/review/previous?{P}&item=i1").text) == "i0"
        assert ana.get(f"/review/previous?{P}&item=i0").status_code == 400


def test_reviewers_of_a_shared_studio_see_neither_paths_nor_commands(workspace: Path) -> None:
    add_studio_reviewer(workspace, "Zoe", "correct horse")
    add_studio_reviewer(workspace, "Ida", "correct horse", is_adjudicator=True)
    (workspace / "broken").mkdir()
    (workspace / "broken" / "project.toml").write_text("source = 3\n", encoding="utf-8")
    (workspace / "empty").mkdir()
    toml = (workspace / "project" / "project.toml").read_text(encoding="utf-8")
    (workspace / "empty" / "project.toml").write_text(toml, encoding="utf-8")
    studio = studio_on(workspace, build_shared_config(workspace, "review.example.org"))
    zoe, ida = client_of(studio, "reviewer", "Zoe"), client_of(studio, "reviewer", "Ida")
    lock = adjudication.publish_project.__globals__["lock_project"]
    try:
        pages = [
            zoe.get("/review"),
            zoe.get("/review/state?project=empty"),
            zoe.get(f"/review/item?{P}&item=i0"),
            zoe.get(f"/review/previous?{P}&item=i0"),
            zoe.get(f"/review/write?{P}"),
            ida.get("/review/copy?project=empty"),
            htmx(ida, f"/review/published?{P}", {"open": "refuse", "licence": "CC0-1.0"}),
            htmx(ida, f"/review/published?{P}", {"open": "keep", "licence": "CC0-1.0"}),
        ]
        with lock(workspace / "project"):
            pages.append(htmx(ida, f"/review/published?{P}", {"open": "keep", "licence": "CC0-1.0"}))
    finally:
        studio.projects.close()
    for answer in pages:
        assert str(workspace) not in answer.text, answer.url
        assert not re.search(r"tiltmeter (make|run|studio)|[\s`(]--[a-z]", answer.text), answer.text
    assert "broken/project.toml" in pages[0].text
    assert_mentions(pages[1].text, "empty", "project.sqlite")
    assert_mentions(pages[2].text, "not a reviewer")
    assert_mentions(pages[6].text, "open")
    assert_mentions(pages[7].text, "Edition 1")
    assert pages[8].status_code == 400


def test_parallel_posts_of_a_reviewer_count_once(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana", "Eva") as (ana, eva), ThreadPoolExecutor(8) as threads:
        page = following(ana)
        answers = list(threads.map(lambda verdict: decide(ana, page, verdict), ["keep", "drop"] * 25))
        assert all(answer.status_code == 200 for answer in answers)
        with open_project(workspace / "project") as project:
            assert [one.reviewer for one in project.store.list_decisions("i0", undone=True)] == ["Ana"]
        assert decide(ana, page, "drop").status_code == 200
        decide(eva, following(eva), "drop")
        with open_project(workspace / "project") as project:
            assert [one.verdict for one in project.store.list_decisions("i0", undone=True)] == ["drop", "drop"]
            assert project.store.get_item("i0").dropped is not None


def test_a_changed_decision_keeps_the_first_in_the_history(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana") as (ana,):
        decide(ana, following(ana), "drop")
        again = ana.get(f"/review/previous?{P}").text
        decide(ana, again, "keep", known=hidden(again, "known"))
    with open_project(workspace / "project") as project:
        assert [one.verdict for one in project.store.list_decisions("i0", undone=True)] == ["drop", "accept"]
        assert [one.verdict for one in project.store.list_decisions("i0")] == ["accept"]


def test_a_repeated_question_is_stored_once(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana") as (ana,), ThreadPoolExecutor(4) as threads:
        following(ana)
        asked = {"item": "i0", "question": "Is this a cook?"}
        list(threads.map(lambda _: htmx(ana, f"/review/ask?{P}", asked), range(8)))
    with open_project(workspace / "project") as project:
        assert [one.question for one in project.store.list_questions("i0")] == ["Is this a cook?"]
