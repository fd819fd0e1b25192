"""The page New run over HTTP."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.studio.client import client_of, htmx, studio_on
from tests.studio.queued import until, workspace_with_items
from tests.support.messages import assert_mentions
from tiltmeter.cluster.job_lock import JobLock
from tiltmeter.studio.app import Studio
from tiltmeter.studio.job_files import PROGRESS
from tiltmeter.studio.job_queue import JobQueue
from tiltmeter.studio.pages import new_run
from tiltmeter.studio.studio_config import build_shared_config

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Studio:
    """Return a studio that starts no jobs."""
    workspace_with_items(tmp_path)
    monkeypatch.setattr(JobQueue, "_start_job", lambda self, job: None)
    return studio_on(tmp_path)


@pytest.fixture
def client(studio: Studio) -> Iterator[TestClient]:
    with client_of(studio) as client:
        yield client


def started(client: TestClient, **values: Any) -> Any:
    return htmx(client, "/new-run/start", {"model": "embedded", "on": "starter:en", **values})


def test_the_page_offers_models_benchmarks_and_files(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "small.gguf").touch()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    page = client.get("/new-run").text
    for value in ("embedded", "mine", "small.gguf"):
        assert f'name="model" value="{value}"' in page
    for value in ("starter:en", "association-5.en.jsonl"):
        assert f'name="on" value="{value}"' in page
    assert "80 items" in page
    other = client.get("/new-run/sets/stereoset").text
    assert 'name="on" value="stereoset:tr"' in other
    assert "will be downloaded" in other
    assert client.get("/new-run/sets/nonsense").status_code == 400
    assert "Apache-2.0" in page
    assert "queue is empty" in page
    assert "style=" not in page
    assert page.count(" checked>") == 2


def test_start_stop_continue_and_remove(client: TestClient, studio: Studio) -> None:
    page = started(client, limit="2", name="mine").text
    (job_id,) = re.findall(r'id="job-([^"]+)"', page)
    assert "data-focus" in page
    assert "at most 2 items" in page
    assert "queued" in page
    assert "Stop" in page
    path = f"/new-run/jobs/{job_id}"
    stopped = htmx(client, f"{path}/stop").text
    assert 'data-state="stopped"' in stopped
    assert "Continue" in stopped
    assert 'data-state="queued"' in htmx(client, f"{path}/go-on").text
    assert htmx(client, f"{path}/explode").status_code == 400
    htmx(client, f"{path}/stop")
    assert "queue is empty" in htmx(client, f"{path}/remove").text
    assert htmx(client, f"{path}/stop").status_code == 400


def test_runs_are_named_after_model_and_benchmark(client: TestClient) -> None:
    for _ in range(2):
        started(client)
    page = client.get("/new-run").text
    assert "embedded-starter-en" in page
    assert "embedded-starter-en-2" in page


def test_languages_of_a_data_set_become_one_benchmark(client: TestClient, tmp_path: Path) -> None:
    htmx(client, "/new-run/start", {"model": "embedded", "on": ["starter:en", "association-5.en.jsonl", "starter:de"]})
    (job,) = JobQueue(studio_on(tmp_path).workspace).list_jobs()
    assert job.request.on == ("starter:en,de", "association-5.en.jsonl")


@pytest.mark.parametrize(
    "values",
    [
        {"model": ""},
        {"on": ""},
        {"model": "../../etc"},
        {"on": "../association-5.en.jsonl"},
        {"name": "../x"},
        {"limit": "many"},
        {"limit": "0"},
        {"protocol": SCRIPT},
        {"model": SCRIPT},
        {"on": SCRIPT},
        {"name": SCRIPT},
        {"tokenizer": "/etc/passwd"},
        {"price_in": "cheap"},
    ],
)
def test_invalid_requests_are_rejected(client: TestClient, studio: Studio, values: dict[str, str]) -> None:
    answer = started(client, **values)
    assert answer.status_code == 400
    assert SCRIPT not in answer.text
    assert JobQueue(studio.workspace).list_jobs() == []
    # The estimate shows the same message without an error status.
    estimate = htmx(client, "/new-run/estimate", {"model": "embedded", "on": "starter:en", **values})
    assert estimate.status_code == 200
    assert SCRIPT not in estimate.text


def test_an_estimate_is_shown(client: TestClient) -> None:
    shown = htmx(
        client, "/new-run/estimate", {"model": "embedded", "on": ["starter:en", "stereoset:de"], "limit": 3}
    ).text
    assert_mentions(shown, "6 items", "stereoset:de")


@pytest.mark.parametrize(
    ("values", "model"),
    [
        ({"where": "here", "name": "org/name"}, "org/name"),
        ({"where": "chat-here", "name": "embedded"}, "chat:embedded"),
        ({"where": "openai", "name": "m", "address": "http://host/v1"}, "openai:m@http://host/v1"),
        ({"where": "chat", "name": "m", "address": "http://host/v1/"}, "chat:m@http://host/v1"),
        ({"where": "here", "name": ""}, None),
        ({"where": "here", "name": "../x"}, None),
        ({"where": "openai", "name": "m", "address": "javascript:alert(1)"}, None),
        ({"where": "exec", "name": SCRIPT}, None),
    ],
)
def test_a_model_is_added_or_rejected(client: TestClient, values: dict[str, str], model: str | None) -> None:
    answer = htmx(client, "/new-run/models", values)
    if model is None:
        assert answer.status_code == 400
        assert SCRIPT not in answer.text
    else:
        assert f'name="model" value="{model}" checked' in answer.text


def test_progress_shows_interim_values_and_no_verdict(client: TestClient, studio: Studio, tmp_path: Path) -> None:
    page = started(client, name="mine").text
    (job_id,) = re.findall(r'id="job-([^"]+)"', page)
    folder = studio.workspace.state / "jobs" / job_id
    value = {"model": "embedded", "benchmark": "starter", "part": "intrasentence", "language": "en"}
    value |= {"measure": "SS", "value": 61.54, "items": 13}
    progress = {"phase": "answering", "seconds": 3.0, "label": f"{SCRIPT} (causal)", "model": 1, "answered": 40}
    progress |= {"questions": 90, "remaining": 12.0, "told": [], "values": [value]}
    (folder / PROGRESS).write_text(json.dumps(progress))
    with JobLock(folder):
        until(lambda: 'value="40"' in client.get("/new-run").text)
        shown = client.get("/new-run").text
    assert SCRIPT not in shown
    assert "40 of 90 questions" in shown
    assert "SS 61.5" in shown
    assert "12 seconds left" in shown
    assert "significant" not in shown


def test_events_are_sent_after_changes(client: TestClient, studio: Studio) -> None:
    """Each message contains the whole list, and no message is sent without a change."""
    queue = studio.jobs

    async def read() -> list[str]:
        app: Any = client.app
        headers = [(name.encode(), value.encode()) for name, value in client.headers.items()]
        headers += [(b"host", b"127.0.0.1:8765")]
        cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        headers += [(b"cookie", cookies.encode())]
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET"}
        scope |= {"path": "/new-run/events", "raw_path": b"/new-run/events", "query_string": b"", "root_path": ""}
        scope |= {"scheme": "http", "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765)}
        gone, got = asyncio.Event(), []

        async def receive() -> dict[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.body" and message.get("body"):
                got.append(message["body"].decode())
                if len(got) == 1:
                    await asyncio.to_thread(started, client, name="mine")
                elif "mine" in got[-1]:
                    gone.set()

        await app(scope, receive, send)
        return got

    got = asyncio.run(read())
    assert "queue is empty" in got[0]
    assert "event: jobs" in got[-1]
    assert 'data-name="mine"' in got[-1]
    assert len(got) <= queue.version + 2


def test_reviewers_of_a_shared_studio_cannot_start_runs(tmp_path: Path) -> None:
    workspace_with_items(tmp_path)
    studio = studio_on(tmp_path, build_shared_config(tmp_path, "review.example.org"))
    assert new_run.STUDIO_PAGE not in studio.pages
    with client_of(studio, "owner") as client:
        assert client.get("/new-run").status_code in (303, 401, 403, 404)
        assert started(client).status_code in (403, 404)
        assert client.get("/new-run/events").status_code in (303, 401, 403, 404)
    assert JobQueue(studio.workspace).list_jobs() == []


@pytest.mark.parametrize("name", ["語" * 90, f"{'a' * 300}.jsonl", f"{'a' * 300}.gguf", "a/" * 2500 + "b"])
def test_names_that_are_too_long_are_rejected(client: TestClient, name: str) -> None:
    quoted = quote(name, safe="")
    pages = [
        f"/new-run/sets/{quoted}",
        f"/data/sets/{quoted}/examples",
        f"/data/file?file={quoted}",
        f"/review/project?project={quoted}",
        f"/review/copy?project={quoted}",
        f"/runs/open?run={quoted}",
    ]
    assert [page[:20] for page in pages if client.get(page).status_code not in (400, 404)] == []
    for field in ("model", "on", "tokenizer", "name"):
        values = {"model": "embedded", "on": "starter:en", field: name}
        assert htmx(client, "/new-run/start", values).status_code == 400, field
        assert htmx(client, "/new-run/estimate", values).status_code in (200, 400), field
    assert htmx(client, "/new-run/models", {"name": name, "where": "here"}).status_code == 400
    assert htmx(client, f"/review/decide?project={quoted}", {"item": "i0"}).status_code == 400
