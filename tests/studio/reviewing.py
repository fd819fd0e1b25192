"""Helpers for reviewing a small project over HTTP."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from perf.kills_review import REVIEWERS
from perf.reviewed_project import make_project
from tests.studio.client import client_of, htmx
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.project import open_project
from tiltmeter.making.writing.written_items import create_written_project
from tiltmeter.studio.app import Studio

P = "project=project"
CONTEXT = "el cocinero era muy BLANK hoy number0."
BETTER = "el cocinero fue muy BLANK hoy number0."


def small_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a workspace with a project of three items, each of which needs two agreeing reviewers."""
    monkeypatch.setenv("TILTMETER_CACHE", str(folder / ".cache"))
    make_project(folder, 3, REVIEWERS, agreeing=2, per_item=2)
    return folder


def create_projects(
    folder: Path, items: int, reviewers: Sequence[str], proposals: tuple[str, str], *, per_item: int
) -> None:
    """Create a translated project with two proposals for item i0, and a project of items that Ana writes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TILTMETER_CACHE", str(folder / ".cache"))
        make_project(folder, items, reviewers, agreeing=2, per_item=per_item)
    with open_project(folder / "project") as project, project.store.begin_transaction():
        finding = RepairFinding("i0", "context", "verb", "proposed", "Another verb?", "", proposals)
        project.store.add_finding(finding, "repair")
    with create_written_project(folder / "written", "gest", language="sk", quota=2) as project:
        for name in ("Ana", "Ida"):
            project.record_notice(name)
    plan = folder / "written" / "writing.toml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("writers = []", 'writers = ["Ana"]'), encoding="utf-8")


@contextmanager
def people(studio: Studio, *names: str) -> Iterator[list[TestClient]]:
    """Provide clients of several people."""
    clients = [client_of(studio, "owner", name) for name in names]
    try:
        yield clients
    finally:
        studio.projects.close()


def hidden(html: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', html)
    assert found is not None
    return found[1]


def following(client: TestClient) -> str:
    """Return the page of the next item; confirm the notice that comes before the first."""
    page = str(htmx(client, f"/review/next?{P}").text)
    return str(htmx(client, f"/review/start?{P}").text) if "/review/start?" in page else page


def conflict(client: TestClient) -> str:
    """Return the page of the first conflict."""
    return str(htmx(client, f"/review/conflict?{P}").text)


def settle(client: TestClient, html: str, **values: str) -> Any:
    return htmx(client, f"/review/adjudicate?{P}", {"item": item_of(html), "seen": hidden(html, "seen"), **values})


def decide(client: TestClient, html: str, verdict: str = "keep", **more: str) -> Any:
    values = {"item": hidden(html, "item"), "shown": hidden(html, "shown"), "verdict": verdict, **more}
    return htmx(client, f"/review/decide?{P}", values)


def item_of(html: str) -> str:
    return hidden(html, "item")


def csrf_of(html: str) -> str:
    """Return the CSRF token of a page."""
    found = re.search(r'"X-CSRF-Token": "([^"]+)"', html)
    assert found is not None
    return found[1]
