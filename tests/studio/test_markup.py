"""Markup in all fields from people, files and models is escaped on all pages."""

import html
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.studio.client import client_of, htmx, studio_on
from tests.studio.made_runs import save, small, write
from tests.studio.reviewing import hidden, item_of, small_project
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.project import open_project
from tiltmeter.making.project_settings import read_settings, write_settings
from tiltmeter.making.writing.written_items import create_written_project
from tiltmeter.studio.request_guard import CSRF_HEADER
from tiltmeter.studio.reviewer_accounts import add_studio_reviewer
from tiltmeter.studio.studio_config import build_shared_config

# As short as a tag, so that it fits into every field; it ends an attribute, and names can have it.
EVIL = "'\"><x-evil onevil=1>"
# It also ends a text area, a title and a script.
LONG = f"</textarea></title></script>{EVIL}{{{{7*7}}}}"


class _Elements(HTMLParser):
    """Collects elements and attributes that come from the content of fields."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if tag == "x-evil" or any("evil" in name for name in names) or len(set(names)) < len(names):
            self.made.append(f"{tag} {names}")


def shows(answer: Any, *texts: str) -> str:
    """Assert that a response contains the texts, escaped."""
    page = str(answer.text)
    parser = _Elements()
    parser.feed(page)
    parser.close()
    assert parser.made == [], f"{answer.url}: {parser.made}"
    assert answer.status_code < 500, page
    shown = html.unescape(re.sub("<del>.*?</del>|</?ins>", "", page))
    for text in texts:
        assert text in shown, f"{answer.url} does not show {text}: {page}"
    return page


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return small_project(tmp_path, monkeypatch)


def test_the_parser_finds_injected_markup() -> None:
    for page in (f"<p>{EVIL}</p>", f'<input value="{EVIL}">', "<p class=a onevil=1>", "<a href=x href=y>"):
        parser = _Elements()
        parser.feed(page)
        assert parser.made, page
    parser = _Elements()
    parser.feed(f'<p title="{html.escape(EVIL)}">{html.escape(LONG)}</p>')
    assert parser.made == []


def test_in_reviews(workspace: Path) -> None:
    shutil.move(workspace / "project", workspace / EVIL)
    folder, project = workspace / EVIL, f"project={quote(EVIL)}"
    (folder / "guidelines.md").write_text(LONG, encoding="utf-8")
    settings = replace(read_settings(folder), guidelines="guidelines.md", title=LONG, licence=EVIL)
    write_settings(folder, settings)
    finding = RepairFinding("i0", "context", EVIL, "proposed", LONG, "", (f"{LONG} BLANK",))
    with open_project(folder) as opened, opened.store.begin_transaction():
        opened.store.add_finding(finding, "repair")
        opened.store.set_text("i1", "text", "context", f"{LONG} BLANK", step="repair", by=EVIL, why=EVIL)
    studio = studio_on(workspace)
    ana, eva, ida = (client_of(studio, "owner", name) for name in (f"Ana {EVIL}", "Eva", f"Ida {EVIL}"))

    def post(client: Any, path: str, **values: str) -> Any:
        return htmx(client, f"/review/{path}?{project}", values)

    try:
        shows(ana.get("/review"), LONG, EVIL)
        shows(ana.get(f"/review/item?{project}"), EVIL)
        shows(post(ana, "next"), LONG)  # the guidelines, before the first item
        page = shows(post(ana, "start"), f"{LONG} BLANK", EVIL)  # proposals and reasons
        shows(ana.get(f"/review/items?{project}"), EVIL)
        shows(ana.get(f"/review/items?{project}&search={quote(LONG)}&reason={quote(LONG)}&sort={quote(LONG)}"), LONG)
        shows(ana.get(f"/review/groups?{project}&key={quote(LONG)}"))
        shows(post(ana, "group/decide", key=LONG, **{f"item:{LONG}": LONG}), LONG)
        shows(ana.get(f"/review/project?{project}"), LONG, f"Ana {EVIL}")
        edited = {"text:context": f"{LONG} BLANK", "text:target_term": EVIL}
        checked = shows(post(ana, "check", item="i0", **edited, **{"why:target-not-in-context": EVIL}), LONG)
        needed = {name: EVIL for name in ("why:target-not-in-context", "why:attached-blank") if name in checked}
        values = {"item": "i0", "shown": html.unescape(hidden(page, "shown")), "verdict": "keep", "comment": LONG}
        shows(post(ana, "decide", **values, **edited, **needed), "Your decision is stored: edited.")
        shows(ana.get(f"/review/item?{project}&item=i0"), LONG, EVIL)
        shows(ana.get(f"/review/history?{project}"), LONG)
        # A question and its answer.
        shows(post(ana, "ask", item="i1", question=LONG))
        listed = shows(ida.get(f"/review/questions?{project}"), LONG, f"Ana {EVIL}")
        shows(post(ida, "answer", number=hidden(listed, "number"), answer=f"No. {LONG}"))
        shows(ana.get(f"/review/item?{project}&item=i1"), LONG, f"No. {LONG}", f"Ida {EVIL}")
        # A conflict, also one in which others were faster.
        page = shows(post(eva, "next"), LONG)
        values = {"item": item_of(page), "shown": hidden(page, "shown"), "comment": EVIL}
        shows(post(eva, "decide", verdict="drop", **values), "Your decision is stored: dropped.")
        shows(ida.get(f"/review/conflicts?{project}"), EVIL)
        shown = shows(post(ida, "conflict"), LONG, f"Ana {EVIL}")
        assert item_of(shown) == "i0"
        late = {"item": "i0", "seen": "x", "verdict": "edit", "comment": LONG, "code": LONG, "why": LONG, **edited}
        kept = shows(post(ida, "adjudicate", **late), "not stored")
        assert html.unescape(kept).count(LONG) >= 4
        shows(post(ida, "adjudicate", **{**late, "item": EVIL, "take": EVIL}), EVIL)
        shows(ida.get(f"/review/agreement?{project}"), f"Ana {EVIL}")
        # Publication.
        shows(ida.get(f"/review/publish?{project}"), EVIL)
        shows(post(ida, "published", open="keep", licence=LONG))
        shows(post(ida, "published", open=LONG, licence=LONG))
        for path in ("item", "project", "state", "history", "previous", "agreement", "publish", "write", "rate"):
            for query in (f"project={quote(LONG)}", f"{project}&item={quote(LONG)}&about={quote(LONG)}"):
                shows(ana.get(f"/review/{path}?{query}"))
    finally:
        studio.projects.close()


def test_in_written_items_and_ratings(tmp_path: Path) -> None:
    with create_written_project(tmp_path / "my-sk", "gest", language="sk", quota=2) as written_project:
        for name in (f"Ana {EVIL}", f"Ida {EVIL}"):
            written_project.record_notice(name)
    plan = tmp_path / "my-sk" / "writing.toml"
    text = plan.read_text(encoding="utf-8").replace("writers = []", f"writers = ['''Ana {EVIL}''']")
    plan.write_text(text, encoding="utf-8")
    studio, project = studio_on(tmp_path), "project=my-sk"
    ana, ida = client_of(studio, "owner", f"Ana {EVIL}"), client_of(studio, "owner", f"Ida {EVIL}")
    written = {"about": "4", "text:sentence": f"I {LONG}", "text:translation": f"Som {LONG}"}
    try:
        shows(ana.get(f"/review/write?{project}&about={quote(LONG)}"))
        shows(htmx(ana, f"/review/write/check?{project}", written))
        shows(htmx(ana, f"/review/written?{project}", {**written, "sub": LONG}))
        shows(htmx(ana, f"/review/written?{project}", written))
        shows(htmx(ana, f"/review/written?{project}", {**written, "about": LONG}))
        page = shows(ida.get(f"/review/rate?{project}"), f"I {LONG}")
        rated = {"unit": hidden(page, "unit"), "task": "gender", "step": "2", "comment": LONG}
        page = shows(htmx(ida, f"/review/rated?{project}", rated), "is stored: step 2")
        shows(htmx(ida, f"/review/rated?{project}", {**rated, "unit": LONG, "task": LONG}))
        shows(htmx(ida, f"/review/rated?{project}", {**rated, "task": "fit", "text:sentence": f"We {LONG}"}))
        shows(htmx(ana, f"/review/start?{project}"), f"I {LONG}", f"We {LONG}")
    finally:
        studio.projects.close()


def test_in_runs_and_files(tmp_path: Path) -> None:
    folder = f"runs/{EVIL}"
    save(tmp_path / "runs" / EVIL, small(f"made/{EVIL}", 1))
    save(tmp_path / "runs" / "other", small("made/other", 2))
    write(tmp_path / f"broken {EVIL}", {"manifest.json": "{"})
    (tmp_path / f"{EVIL}.jsonl").write_text(f'{{"id": "{LONG.replace(chr(34), "")}"}}\n{LONG}\n', encoding="utf-8")
    run, query = {"run": folder}, f"run={quote(folder)}"
    with client_of(studio_on(tmp_path)) as client:
        shows(client.get("/runs"), EVIL, f"broken {EVIL}", f"made/{EVIL}")
        shows(client.get(f"/runs/open?{query}"), EVIL)
        shows(htmx(client, "/runs/describe", {**run, "name": LONG, "tags": f"{EVIL}, b"}), LONG, EVIL)
        shows(client.get("/runs"), LONG, EVIL)
        shows(client.get(f"/runs/list?text=evil&tag={quote(EVIL)}&benchmark={quote(LONG)}&start=0"))
        shows(client.get(f"/runs?text={quote(LONG)}&tag={quote(LONG)}"), LONG)
        shows(client.get(f"/runs/open?{query}"), LONG, EVIL)
        shows(client.get(f"/runs/compare?{query}&run=runs/other"), LONG)
        shows(client.get(f"/runs/compared?{query}&run=runs/other"))
        shows(client.get(f"/runs/compare?{query}&run=runs/other&by={quote(LONG)}&across={quote(LONG)}"), EVIL)
        shows(client.get(f"/runs/download?{query}&as={quote(LONG)}"))
        shows(client.get(f"/runs/open?run={quote(LONG)}"))
        assert htmx(client, "/runs/delete", run).status_code == 204
        shows(client.get("/runs/trash"), LONG, EVIL)
        shows(htmx(client, "/runs/restore", {"deleted": LONG}))
        # Files.
        shows(client.get("/data"), f"{EVIL}.jsonl")
        shows(client.get(f"/data/file?file={quote(f'{EVIL}.jsonl')}"), f"{EVIL}.jsonl", "x-evil")
        given = {"file": (f"{EVIL}.jsonl", (tmp_path / f"{EVIL}.jsonl").read_bytes())}
        shows(client.post("/data/check", files=given, headers={"HX-Request": "true"}), "x-evil")
        shows(client.get(f"/data/sets/starter/examples?language={quote(LONG)}"))
        # A run that is asked for.
        shows(client.get("/new-run"), f"{EVIL}.jsonl")
        shows(htmx(client, "/new-run/models", {"where": LONG, "name": LONG, "address": LONG}))
        shows(htmx(client, "/new-run/models", {"where": "openai", "name": EVIL, "address": "http://localhost:1/v1"}))
        for field in ("name", "model", "on", "limit", "protocol", "tokenizer", "max_requests", "price_in"):
            asked = {"model": "embedded", "on": "starter:en", field: LONG}
            shows(htmx(client, "/new-run/estimate", asked))
            shows(htmx(client, "/new-run/start", asked))
        shows(htmx(client, f"/new-run/jobs/{quote(LONG, safe='')}/stop"))


def test_in_names_and_passwords(tmp_path: Path) -> None:
    add_studio_reviewer(tmp_path, f"Ana {EVIL}", f"correct {LONG}")
    studio = studio_on(tmp_path, build_shared_config(tmp_path, "review.example.org"))
    guest = client_of(studio, "guest")
    shows(guest.get("/login"))
    shows(htmx(guest, "/login", {"name": LONG, "password": LONG}))
    assert htmx(guest, "/login", {"name": f"Ana {EVIL}", "password": f"correct {LONG}"}).status_code == 204
    assert CSRF_HEADER in shows(guest.get("/review"), f"Ana {EVIL}")
