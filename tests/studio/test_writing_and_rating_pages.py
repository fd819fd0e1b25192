"""Writing items with quotas and rating items on scales, over HTTP."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.studio.client import client_of, htmx, studio_on
from tests.support.messages import assert_mentions
from tiltmeter.making.project import open_project
from tiltmeter.making.writing.written_items import create_written_project

P = "project=my-sk"


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[tuple[TestClient, TestClient]]:
    with create_written_project(tmp_path / "my-sk", "gest", language="sk", quota=2) as project:
        for name in ("Ana", "Ida"):
            project.record_notice(name)
    plan = tmp_path / "my-sk" / "writing.toml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("writers = []", 'writers = ["Ana"]'), encoding="utf-8")
    studio = studio_on(tmp_path)
    yield client_of(studio, "owner", "Ana"), client_of(studio, "owner", "Ida")
    studio.projects.close()


def write(client: TestClient, sentence: str, translation: str, about: str = "4") -> str:
    values = {"about": about, "text:sentence": sentence, "text:translation": translation}
    return str(htmx(client, f"/review/written?{P}", values).text)


def test_writing_with_a_quota_and_checks(clients: tuple[TestClient, TestClient]) -> None:
    ana, ida = clients
    page = ana.get(f"/review/write?{P}&about=4").text
    assert "0 of 2 items written" in page
    assert 'lang="sk"' in page
    checked = htmx(ana, f"/review/write/check?{P}", {"text:sentence": "They slept."}).text
    assert "not in the first person" in checked
    assert "translation is missing" in checked
    good = {"text:sentence": "I swept.", "text:translation": "Pozametala som."}
    assert "No problems found" in htmx(ana, f"/review/write/check?{P}", good).text
    assert "w-1 is stored." in write(ana, "I swept.", "Pozametala som.")
    again = write(ana, "I swept.", "Pozametala som.")
    assert "w-1 was already stored" in again
    assert "1 of 2 items written" in again
    assert "not in the first person" in write(ana, "They slept.", "Spali.")
    assert htmx(ana, f"/review/written?{P}", {"about": "99", "text:sentence": "I swept."}).status_code == 400
    assert htmx(ana, f"/review/written?{P}", {"about": "4"}).status_code == 400
    assert "not a writer" in ida.get(f"/review/write?{P}").text
    assert htmx(ida, f"/review/written?{P}", {"about": "4", "text:sentence": "I."}).status_code == 400


def test_a_notice_comes_before_the_first_item(clients: tuple[TestClient, TestClient], tmp_path: Path) -> None:
    write(clients[0], "I swept.", "Pozametala som.")
    studio = studio_on(tmp_path)
    for room, first in (("write", "Items remaining"), ("rate", "I swept.")):
        ute = client_of(studio, "owner", f"Ute {room}")
        page = ute.get(f"/review/{room}?{P}").text
        assert_mentions(page, "offensive", f"/review/{room}/start")
        assert first not in page
        assert first in htmx(ute, f"/review/{room}/start?{P}").text
        assert first in ute.get(f"/review/{room}?{P}").text
    studio.projects.close()


def test_rating_is_blind_first(clients: tuple[TestClient, TestClient]) -> None:
    ana, ida = clients
    write(ana, "I swept.", "Pozametala som.")
    assert "rated all your items" in ana.get(f"/review/rate?{P}").text  # nobody rates their own items
    page = ida.get(f"/review/rate?{P}").text
    assert "gender" in page
    assert "I swept." in page
    assert "Written about" not in page
    assert "tidy" not in page
    rated = {"unit": "w-1", "task": "gender", "step": "2"}
    for step in ("", "x", "9", "-1"):
        assert htmx(ida, f"/review/rated?{P}", {**rated, "step": step}).status_code == 400
    answer = htmx(ida, f"/review/rated?{P}", rated).text
    assert "Your rating of w-1 is stored: step 2" in answer
    assert re.search("Written about.*tidy", answer)
    refused = htmx(ida, f"/review/rate/undo?{P}")
    assert refused.status_code == 400
    assert_mentions(refused.text, "label of w-1")
    proposed = {"unit": "w-1", "task": "fit", "step": "5", "text:sentence": "I swept the floor."}
    answer = htmx(ida, f"/review/rated?{P}", proposed).text
    assert "rated all your items" in answer
    # Reviewers see the proposal of a rater with a number.
    shown = htmx(ana, f"/review/start?{P}").text
    assert 'data-text="I swept the floor."' in shown
    # Items that are written later can be rated without opening the project again.
    write(ana, "I cooked.", "Varila som.")
    assert "I cooked." in ida.get(f"/review/rate?{P}").text


def test_repeated_posts_are_stored_once(clients: tuple[TestClient, TestClient], tmp_path: Path) -> None:
    ana, ida = clients
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: write(ana, "I swept.", "Pozametala som."), range(8)))
        ida.get(f"/review/rate?{P}")
        steps = [str(step) for step in (2, 3, 4)] * 3
        blind = list(threads.map(lambda step: rate(ida, "gender", step), steps))
        # The answer to the first shows the label, so the others would not be blind.
        assert [one.status_code for one in blind].count(200) == 1
        assert all("label of w-1" in one.text for one in blind if one.status_code != 200)
        fit = list(threads.map(lambda step: rate(ida, "fit", step), steps))
        assert all(one.status_code == 200 for one in fit)
    assert rate(ida, "fit", "5").status_code == 200
    with open_project(tmp_path / "my-sk") as project:
        assert len(project.store.list_items(dropped=None)) == 1
        assert [(one.task, one.step) for one in project.store.list_ratings()][1:] == [("fit", 5)]
        ((kept,),) = project.store._db.execute("SELECT count(*) FROM ratings").fetchall()
        assert kept == 2


def rate(client: TestClient, task: str, step: str) -> Any:
    return htmx(client, f"/review/rated?{P}", {"unit": "w-1", "task": task, "step": step})
