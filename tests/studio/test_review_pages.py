"""The page Review over HTTP: blind review of items, adjudication and publication."""

import io
import re
import sqlite3
import zipfile
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.studio.client import client_of, htmx, studio_on
from tests.studio.reviewing import (
    BETTER,
    CONTEXT,
    P,
    conflict,
    csrf_of,
    decide,
    following,
    hidden,
    item_of,
    people,
    settle,
    small_project,
)
from tests.support.messages import assert_mentions
from tiltmeter.making.project import open_project
from tiltmeter.making.project_settings import read_settings, write_settings
from tiltmeter.studio.request_guard import CSRF_HEADER
from tiltmeter.studio.reviewer_accounts import add_studio_reviewer
from tiltmeter.studio.studio_config import build_shared_config


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return small_project(tmp_path, monkeypatch)


def test_two_reviewers_agreement_adjudication_publication(workspace: Path) -> None:
    studio = studio_on(workspace)
    with people(studio, "Ana", "Eva", "Ida") as (ana, eva, ida):
        blind = [f"/review/{path}?{P}" for path in ("item", "state", "project", "history")]
        blind += [f"/review/item?{P}&item=i{number}" for number in range(3)]
        following(eva)
        before = [following(eva), *(eva.get(path).text for path in blind)]
        first = following(ana)
        assert item_of(first) == "i0"
        assert '<mark class="blank">BLANK</mark>' in first
        assert '<mark class="target">cocinero</mark>' in first
        assert 'lang="es" dir="auto"' in first
        assert "0 decided, 3 remaining" in first
        # Ana edits, drops, accepts.
        answer = decide(ana, first, **{"text:context": BETTER, "text:target_term": "cocinero"})
        assert answer.status_code == 200, answer.text
        assert "Your decision is stored: edited." in answer.text
        answer = decide(ana, answer.text, "drop", comment="not one")
        assert "Your decision is stored: dropped." in answer.text
        assert "2 decided, 1 remaining" in answer.text
        answer = decide(ana, answer.text)
        assert "Your decision is stored: accepted." in answer.text
        assert "reviewed all your items" in answer.text
        # Eva's pages are the same to the letter.
        assert [following(eva), *(eva.get(path).text for path in blind)] == before
        seen = following(eva)
        assert CONTEXT in re.sub("<[^>]*>", "", seen)
        for _ in range(3):
            seen = decide(eva, seen).text
        assert "reviewed all your items" in seen
        # Agreement.
        found = ida.get(f"/review/agreement?{P}").text
        assert "Krippendorff" in found
        assert "Cohen" in found
        assert "0 open, 1 agreed, 2 conflict, 0 adjudicated" in found
        # Adjudication: take one, write another.
        page = conflict(ida)
        assert "<del>era</del><ins>fue</ins>" in page
        assert "Items in conflict: 2" in page
        answer = settle(ida, page, take="Ana")
        assert "conflict is settled." in answer.text
        texts = {"text:context": "el jardinero fue muy BLANK hoy number1."}
        answer = settle(ida, answer.text, verdict="edit", **texts)
        assert "no conflicts" in answer.text
        # Publication.
        assert "refuse" in ida.get(f"/review/publish?{P}").text
        answer = htmx(ida, f"/review/published?{P}", {"open": "refuse", "licence": "CC0-1.0"})
        assert "Edition 1" in answer.text, answer.text
        assert BETTER in (workspace / "published" / "project" / "items.jsonl").read_text(encoding="utf-8")


def test_a_download_is_consistent_and_complete(workspace: Path, tmp_path: Path) -> None:
    (workspace / "project" / "guidelines.md").write_text("Keep the register.", encoding="utf-8")
    write_settings(workspace / "project", replace(read_settings(workspace / "project"), guidelines="guidelines.md"))
    with people(studio_on(workspace), "Ana") as (ana,):
        assert "Keep the register." in ana.get(f"/review/project?{P}").text
        decide(ana, following(ana), "drop")
        copied = ana.get(f"/review/copy?{P}")
        assert copied.headers["content-disposition"] == 'attachment; filename="project.zip"'
    archive = zipfile.ZipFile(io.BytesIO(copied.content))
    assert sorted(archive.namelist()) == [
        "project/guidelines.md",
        "project/project.sqlite",
        "project/project.toml",
    ]
    archive.extractall(tmp_path / "away")
    database = sqlite3.connect(tmp_path / "away" / "project" / "project.sqlite")
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    with open_project(tmp_path / "away" / "project") as project:
        assert [(one.item, one.verdict) for one in project.store.list_decisions()] == [("i0", "drop")]


def test_conflicts_of_the_user_are_for_other_adjudicators(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana", "Eva", "Ida") as (ana, eva, ida):
        decide(ana, following(ana), "drop")
        decide(eva, following(eva))
        assert_mentions(conflict(eva), "no conflicts that you can settle", "1. Another adjudicator")
        page = conflict(ida)
        refused = settle(eva, page, take="Eva")
        assert (refused.status_code, "another adjudicator" in refused.text) == (400, True)
        assert "<h2" in page
        settings = read_settings(workspace / "project")
        write_settings(workspace / "project", replace(settings, settle_own_conflicts=True))
        assert "conflict is settled." in settle(eva, conflict(eva), take="Eva").text


def test_undo_previous_and_history(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana") as (ana,):
        page = following(ana)
        for _ in range(2):
            page = decide(ana, page, comment="so").text
        assert item_of(page) == "i2"
        before = ana.get(f"/review/previous?{P}&item=i2").text
        assert (item_of(before), "Your decision: accepted" in before) == ("i1", True)
        assert item_of(ana.get(f"/review/previous?{P}&item=i1").text) == "i0"
        assert ana.get(f"/review/previous?{P}&item=i0").status_code == 400
        # Decide anew on an earlier item; the queue goes on.
        assert item_of(decide(ana, before, "drop").text) == "i2"
        undone = htmx(ana, f"/review/undo?{P}")
        assert_mentions(undone.text, "(dropped)", "number1", "withdrawn")
        assert item_of(undone.text) == "i1"
        listed = ana.get(f"/review/history?{P}").text
        assert "i0" in listed
        assert "accepted" in listed
        htmx(ana, f"/review/undo?{P}")
        answer = htmx(ana, f"/review/undo?{P}")
        assert (answer.status_code, "no decision" in answer.text) == (400, True)


def test_a_warning_needs_a_reason_and_changes_are_shown(workspace: Path) -> None:
    odd = {"text:context": "la persona era muy BLANK hoy."}
    with people(studio_on(workspace), "Ana") as (ana,):
        page = following(ana)
        checked = htmx(ana, f"/review/check?{P}", {"item": "i0", **odd}).text
        assert 'name="why:target-not-in-context"' in checked
        assert "<del>cocinero</del><ins>persona</ins>" in checked
        assert_mentions(htmx(ana, f"/review/check?{P}", {"item": "i0", "text:context": "x"}).text, "BLANK")
        refused = decide(ana, page, **odd)
        assert refused.status_code == 400
        assert "target-not-in-context" in refused.text
        stored = decide(ana, page, **odd, **{"why:target-not-in-context": "as spoken"})
        assert "Your decision is stored: edited." in stored.text
        again = ana.get(f"/review/item?{P}&item=i0").text
        assert 'value="as spoken"' in again
        assert "la persona era muy BLANK hoy." in again


def test_texts_have_names_and_languages(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana", "Eva", "Ida") as (ana, eva, ida):
        page = following(ana)
        assert re.findall("<h3>(.*?)</h3>", page) == [
            *("target term", "context"),
            *("stereotype", "anti-stereotype", "unrelated"),
            "Filled sentences",
        ]
        assert '<dt>unrelated</dt><dd lang="es" dir="auto">el cocinero era muy <mark' in page
        assert page.count('<p class="language">English</p>') == page.count('<p class="language">Spanish</p>') == 5
        assert 'aria-label="unrelated, Spanish"' in page
        checked = htmx(ana, f"/review/check?{P}", {"item": "i0", "text:candidates[2].word": "sereno"}).text
        assert '<mark class="blank">sereno</mark> hoy' in checked
        empty = htmx(ana, f"/review/check?{P}", {"item": "i0", "text:candidates[2].word": " "}).text
        assert_mentions(empty, "unrelated", "i0", "empty")
        htmx(ana, f"/review/ask?{P}", {"item": "i0", "question": "A dialect?"})
        asked = eva.get(f"/review/questions?{P}").text
        assert re.search('<dt>anti-stereotype</dt><dd lang="en" dir="auto">gruff', asked)
        # What people type may be of another direction than the page.
        typed = [*re.findall('<(?:input|textarea)[^>]*name="(?:comment|question|answer|new)"[^>]*>', page + asked)]
        typed += re.findall('<input[^>]*name="new"[^>]*>', ana.get(f"/review/project?{P}").text)
        assert len(typed) == 4
        assert all('dir="auto"' in field for field in typed)
        decide(ana, ana.get(f"/review/item?{P}&item=i0").text, **{"text:context": BETTER})
        decide(eva, following(eva), "drop")
        shown = conflict(ida)
        assert '<span class="soft">English</span>' in shown
        assert '<span class="soft">Spanish</span>' in shown


def test_questions_and_answers(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana", "Ida") as (ana, ida):
        following(ana)
        assert htmx(ana, f"/review/ask?{P}", {"item": "i0", "question": " "}).status_code == 400
        answer = htmx(ana, f"/review/ask?{P}", {"item": "i0", "question": "A dialect?"})
        assert item_of(answer.text) == "i1"
        listed = ida.get(f"/review/questions?{P}").text
        assert "A dialect?" in listed
        assert htmx(ida, f"/review/answer?{P}", {"number": "x", "answer": "No."}).status_code == 400
        answered = htmx(ida, f"/review/answer?{P}", {"number": hidden(listed, "number"), "answer": "No."})
        assert "answer is stored" in answered.text
        assert "No." in ana.get(f"/review/item?{P}&item=i0").text


def test_a_decision_on_a_changed_text_is_rejected(workspace: Path) -> None:
    with people(studio_on(workspace), "Ana") as (ana,):
        page = following(ana)
        with open_project(workspace / "project") as project, project.store.begin_transaction():
            project.store.set_text("i0", "text", "context", BETTER, step="repair", by="x", why="")
        answer = decide(ana, page)
        assert (answer.status_code, "changed" in answer.text) == (400, True)


def test_the_owner_chooses_a_name(workspace: Path) -> None:
    studio = studio_on(workspace)
    with people(studio, "") as (owner,):
        assert owner.get(f"/review/item?{P}").status_code == 400
        page = owner.get(f"/review/project?{P}").text
        assert 'value="Ana"' in page
        assert "Review items" not in page
        assert htmx(owner, f"/review/who?{P}", {"new": "a\nb"}).status_code == 400
        answer = htmx(owner, f"/review/who?{P}", {"name": "Ana", "new": "<b>Zoë</b>"})
        assert answer.headers["HX-Redirect"] == f"/review/project?{P}"
        page = owner.get(f"/review/project?{P}").text
        assert "&lt;b&gt;Zoë" in page
        assert "<b>Zoë" not in page
        old = owner.headers[CSRF_HEADER]
        owner.headers[CSRF_HEADER] = csrf_of(page)
        assert item_of(following(owner)) == "i0"
        owner.headers[CSRF_HEADER] = old
        # A page that was opened under another name cannot send anything under this one.
        late = htmx(owner, f"/review/who?{P}", {"name": "Ana"})
        assert (late.status_code, "outdated" in late.text) == (403, True)


def test_texts_are_never_markup(workspace: Path) -> None:
    evil = '<script>alert(1)</script> el cocinero "era" BLANK.'
    with people(studio_on(workspace), "Ana", "Eva", "Ida") as (ana, eva, ida):
        page = following(ana)
        answer = decide(ana, page, comment="<i>so</i>", **{"text:context": evil})
        for html in (answer.text, ana.get(f"/review/item?{P}&item=i0").text, ana.get(f"/review/history?{P}").text):
            assert "<script>alert" not in html
            assert "<i>so" not in html
        decide(eva, following(eva), "drop")
        shown = re.sub("</?(ins|del)>", "", conflict(ida))
        assert "&lt;script&gt;" in shown
        assert "<script>alert" not in shown


@pytest.mark.parametrize("name", ["", "..", "../project", "/etc", "project/..", "none", ".tiltmeter-studio", "a\0b"])
def test_other_folders_are_not_projects(workspace: Path, name: str) -> None:
    with people(studio_on(workspace), "Ana") as (ana,):
        for path in (
            "item",
            "project",
            "state",
            "agreement",
            "conflicts",
            "publish",
            "copy",
            "write",
            "rate",
            "history",
        ):
            assert ana.get(f"/review/{path}?project={quote(name)}").status_code == 400, path
        posts = ("next", "conflict", "decide", "undo", "ask", "check", "adjudicate", "answer", "published")
        for path in (*posts, "written", "rated"):
            assert htmx(ana, f"/review/{path}?project={quote(name)}", {"open": "keep"}).status_code == 400, path
    assert not (workspace / "published").exists()


def test_reviewers_of_a_shared_studio_cannot_adjudicate(workspace: Path) -> None:
    add_studio_reviewer(workspace, "Zoe", "correct horse")
    add_studio_reviewer(workspace, "Ida", "correct horse", is_adjudicator=True)
    studio = studio_on(workspace, build_shared_config(workspace, "review.example.org"))
    zoe, ida = client_of(studio, "reviewer", "Zoe"), client_of(studio, "reviewer", "Ida")
    try:
        page = zoe.get(f"/review/project?{P}").text
        assert "Who are you" not in page
        assert "Settle conflicts" not in page
        assert item_of(following(zoe)) == "i0"
        for path in ("agreement", "conflicts", "questions", "publish", "copy"):
            assert zoe.get(f"/review/{path}?{P}").status_code == 400, path
            assert ida.get(f"/review/{path}?{P}").status_code == 200, path
        for path in ("adjudicate", "answer", "published"):
            answer = htmx(zoe, f"/review/{path}?{P}", {"item": "i0", "take": "Ana", "open": "keep", "number": "1"})
            assert "Only adjudicators" in answer.text, path
        # Nobody becomes somebody else.
        assert "logged in with" in htmx(zoe, f"/review/who?{P}", {"new": "Ana"}).text
    finally:
        studio.projects.close()


def test_the_list_of_projects(workspace: Path) -> None:
    broken = workspace / "broken"
    broken.mkdir()
    (broken / "project.toml").write_text("source = 3\n", encoding="utf-8")
    with people(studio_on(workspace), "Ana") as (ana,):
        listed = ana.get("/review").text
        assert "/review/project?project=project" in listed
        assert "Spanish" in listed
        assert "broken" in listed
        assert "0; 3 remaining" in ana.get(f"/review/state?{P}").text
