"""The page Runs over HTTP."""

import html
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.runs.made import association_scores, run
from tests.studio.client import client_of, htmx, studio_on
from tests.studio.made_runs import biased, save, small, write
from tests.support.messages import assert_mentions
from tiltmeter import api
from tiltmeter.cluster.job_lock import JobLock
from tiltmeter.comparing.comparability import ACROSS
from tiltmeter.comparing.comparison import BY
from tiltmeter.comparing.reference_files import write_reference_file
from tiltmeter.comparing.reference_sets import find_published_sets, get_published_file
from tiltmeter.files import write_text
from tiltmeter.reports.change_page import render_change_page
from tiltmeter.reports.comparison_page import render_comparison_page
from tiltmeter.reports.language_page import render_language_page
from tiltmeter.reports.reference_page import render_reference_page
from tiltmeter.runs.manifest import build_model_entry
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_files import MANIFEST
from tiltmeter.studio.app import Studio
from tiltmeter.studio.job_files import REQUEST
from tiltmeter.studio.pages import runs as runs_page
from tiltmeter.studio.reviewer_accounts import add_studio_reviewer
from tiltmeter.studio.run_comparison import KINDS
from tiltmeter.studio.run_reports import RunReports, is_current
from tiltmeter.studio.run_request import RunRequest
from tiltmeter.studio.studio_config import build_shared_config

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    save(tmp_path / "runs" / "bert", small("bert", 1))
    save(tmp_path / "runs" / "roberta", small("roberta", 2))
    save(tmp_path / "gpt", small("gpt2", 3, "causal"))
    write(tmp_path / "broken", {MANIFEST: "{"})
    return tmp_path


@pytest.fixture
def studio(work: Path) -> Studio:
    return studio_on(work)


@pytest.fixture
def client(studio: Studio) -> Iterator[TestClient]:
    with client_of(studio) as found:
        yield found


def listed(client: TestClient, query: str = "") -> list[str]:
    text = client.get(f"/runs/list?{query}").text
    return re.findall(r'<a href="/runs/open\?run=([^"]+)"', text)


def test_the_list(client: TestClient) -> None:
    text = client.get("/runs").text
    assert "4 runs" in text
    assert set(listed(client)) == {"runs/bert", "runs/roberta", "gpt", "broken"}
    assert text.count('class="pick"') == 3  # the broken one cannot be chosen
    assert_mentions(text, "manifest.json cannot be read")
    assert text.count('<svg class="ruler') == 3
    assert "<script>" not in text
    assert "style=" not in text


@pytest.mark.parametrize("start", ["x", "-1", "1.5", "9" * 30, "9" * 5000])
def test_the_start_of_a_list_is_a_number(client: TestClient, start: str) -> None:
    answer = client.get(f"/runs/list?start={start}")
    assert (answer.status_code, "whole number" in answer.text) == (400, True)


def test_filters_and_search(client: TestClient) -> None:
    assert listed(client, "text=roberta") == ["runs/roberta"]
    assert listed(client, "text=nothing") == []
    assert "No run matches" in client.get("/runs/list?text=nothing").text
    answer = client.get("/runs/list?text=bert&language=en&benchmark=&start=")
    assert answer.headers["HX-Replace-Url"] == "/runs?text=bert&language=en"
    assert "2 of 4 runs" in answer.text
    assert 'value="bert"' in client.get("/runs?text=bert").text


def test_fifty_at_a_time(client: TestClient, work: Path) -> None:
    for number in range(60):
        write(work / "many" / f"run-{number:02d}", {MANIFEST: "{"})
    first = client.get("/runs/list?text=run-")
    assert len(listed(client, "text=run-")) == 50
    more = html.unescape(re.findall(r'hx-get="(/runs/list\?text[^"]+)"', first.text)[0])
    assert more == "/runs/list?text=run-&start=50"
    rest = client.get(more).text
    assert len(re.findall("/runs/open", rest)) == 10
    assert "Show more" not in rest
    assert rest.count("data-focus") == 1  # the new position of the keyboard


def test_an_empty_workspace(tmp_path: Path) -> None:
    with client_of(studio_on(tmp_path)) as client:
        assert "No runs yet" in client.get("/runs").text


def test_runs_that_were_not_read_yet_are_requested_again(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_page, "_READING", 0)
    text = client.get("/runs?text=&tone=").text
    assert "3 not loaded yet" in text
    assert 'hx-get="/runs/list?" hx-trigger="load delay:100ms"' in text
    for _ in range(3):
        text = client.get("/runs").text
    assert "not loaded yet" not in text


def test_a_report_is_created_and_shown_in_a_sandbox(
    client: TestClient, work: Path, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = client.get("/runs/open?run=runs/bert").text
    assert "Creating the report" in opened
    assert "iframe" not in opened
    runs_page._STATES[studio].reports._making[work / "runs" / "bert"].result(60)
    state = client.get("/runs/state?run=runs/bert").text
    assert '<iframe class="report" sandbox="allow-scripts" src="/runs/report?run=runs/bert"' in state
    answer = client.get("/runs/report?run=runs/bert")
    assert answer.text == (work / "runs" / "bert" / "report.html").read_text(encoding="utf-8")
    assert answer.headers["Content-Security-Policy"].startswith("sandbox allow-scripts; default-src 'none'")
    assert "allow-same-origin" not in answer.headers["Content-Security-Policy"]
    assert "iframe" in client.get("/runs/open?run=runs/bert").text
    saved = client.get("/runs/report?run=runs/bert&save")
    assert saved.headers["Content-Disposition"] == "attachment; filename*=UTF-8''bert.html"
    # An outdated report is created again.
    monkeypatch.setattr(
        "tiltmeter.studio.run_reports._make_report", lambda folder: write_text(folder / "report.html", "made again")
    )
    save(work / "runs" / "bert", small("bert", 1), datetime.now(UTC) + timedelta(days=1))
    assert "Creating the report" in client.get("/runs/open?run=runs/bert").text
    assert client.get("/runs/report?run=runs/bert").text == "made again"


def test_the_reason_for_a_missing_report(client: TestClient, work: Path, studio: Studio) -> None:
    (work / "gpt" / "scores.parquet").write_bytes(b"nothing")
    client.get("/runs/open?run=gpt")
    runs_page._STATES[studio].reports._making[work / "gpt"].exception(60)
    state = client.get("/runs/state?run=gpt").text
    assert_mentions(state, "report cannot be created", "scores.parquet")
    assert "hx-get" not in state  # the page does not retry by itself


def test_reports_are_created_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []
    monkeypatch.setattr("tiltmeter.studio.run_reports._make_report", made.append)
    save(tmp_path / "run", small("bert", 1))
    reports = RunReports()
    assert reports.get_report(tmp_path / "run") is None
    reports._making[tmp_path / "run"].result(60)
    (tmp_path / "run" / "report.html").write_text("made", encoding="utf-8")
    assert reports.get_report(tmp_path / "run") == tmp_path / "run" / "report.html"
    assert made == [tmp_path / "run"]
    reports.close()


def test_the_report_of_a_run_from_the_future_is_created_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "report.html").write_text("made", encoding="utf-8")

    monkeypatch.setattr("tiltmeter.studio.run_reports._make_report", make)
    save(tmp_path / "run", small("bert", 1))
    os.utime(tmp_path / "run" / "manifest.json", (4e9, 4e9))
    reports = RunReports()
    assert reports.wait_for_report(tmp_path / "run").read_text(encoding="utf-8") == "made"
    assert len(made) == 1
    reports.close()


def test_comparison(client: TestClient, work: Path) -> None:
    two = "run=runs/bert&run=runs/roberta"
    assert "Comparison of 2 runs" in client.get(f"/runs/compare?{two}").text
    compared = client.get(f"/runs/compared?{two}").text
    assert "Not compared" not in compared
    assert 'sandbox="allow-scripts" src="/runs/comparison?run=runs%2Fbert&amp;run=runs%2Froberta"' in compared
    answer = client.get(f"/runs/comparison?{two}")
    runs = {name: work / "runs" / name for name in ("bert", "roberta")}
    assert answer.text == render_comparison_page(api.compare(runs))
    assert answer.headers["Content-Security-Policy"].startswith("sandbox allow-scripts;")


def test_a_comparison_of_languages(client: TestClient, work: Path) -> None:
    """All languages of the chosen runs in one analysis; one run is enough."""
    for seed, model in enumerate(("ada", "bea")):
        tables = [
            association_scores(model, seed=10 * seed + number, n=40, parts=["intrasentence"], language=language)
            for number, language in enumerate(("en", "de", "fr"))
        ]
        save(work / "runs" / model, run(*tables, kind="masked"))
    query = "run=runs/ada&run=runs/bea&by=languages"
    page = client.get(f"/runs/compare?{query}").text
    assert "Languages in 2 runs" in page
    assert 'value="languages" selected' in page
    compared = client.get(f"/runs/compared?{query}").text
    assert "by=languages" in compared
    answer = client.get(f"/runs/comparison?{query}").text
    runs = {name: work / "runs" / name for name in ("ada", "bea")}
    assert answer == render_language_page(api.compare_languages(runs))
    assert "iframe" in client.get("/runs/compared?run=runs/ada&by=languages").text
    one_language = html.unescape(client.get("/runs/compared?run=runs/bert&by=languages").text)
    assert "iframe" not in one_language
    assert_mentions(one_language, "language")


def test_a_comparison_with_published_results(client: TestClient, work: Path) -> None:
    query = "run=runs/bert&by=published"
    compared = html.unescape(client.get(f"/runs/compared?{query}").text)
    assert_mentions(compared, "tiltmeter reference fetch")
    assert "iframe" not in compared
    (published, *_) = find_published_sets({("stereoset", "en")})
    released = next(r for r in published.results if (r.benchmark, r.language) == ("stereoset", "en"))
    write_reference_file(get_published_file(published, released), [(released.name, small("a/b", 5))])
    assert "iframe" in client.get(f"/runs/compared?{query}").text  # the earlier result is not used again
    runs = {"bert": work / "runs" / "bert"}
    pages = (
        client.get(f"/runs/comparison?{query}").text,
        render_reference_page(api.compare_with_references(runs)),
    )
    assert len({re.sub(r"clip\d+", "clip", page) for page in pages}) == 1  # the ids of figures are numbered anew
    assert "Published results and 1 run" in client.get(f"/runs/compare?{query}").text


def test_before_and_after_a_change(client: TestClient, work: Path) -> None:
    query = "run=runs/bert&run=runs/roberta&by=change"
    page = client.get(f"/runs/compare?{query}").text
    assert "Before: <bdi>bert</bdi>, after: <bdi>roberta</bdi>" in page
    assert 'href="/runs/compare?run=runs%2Froberta&amp;run=runs%2Fbert&amp;by=change">Swap' in page
    folders = [work / "runs" / name for name in ("bert", "roberta")]
    swapped = "run=runs/roberta&run=runs/bert&by=change"
    for asked, sides in ((query, folders), (swapped, folders[::-1])):
        assert client.get(f"/runs/comparison?{asked}").text == render_change_page(api.assess_change(*sides))
    answer = client.get("/runs/compare?run=runs/bert&by=change")
    assert (answer.status_code, "You have chosen 1 run; choose 2." in answer.text) == (400, True)


def test_every_kind_of_comparison_can_be_chosen(client: TestClient) -> None:
    page = client.get("/runs/compare?run=runs/bert&run=runs/roberta").text
    assert set(re.findall(r'<option value="([^"]*)"', page)) == {*KINDS} >= {"", *BY}


def test_the_reason_why_runs_are_not_compared(client: TestClient) -> None:
    two = "run=runs/bert&run=gpt"
    compared = html.unescape(client.get(f"/runs/compared?{two}").text)
    assert_mentions(compared, "(masked; causal)")
    assert "iframe" not in compared
    (link,) = re.findall(r'href="(/runs/compare\?[^"]+)"', compared)
    assert link == "/runs/compare?run=runs%2Fbert&run=gpt&across=kinds"
    assert re.search(r'value="kinds" checked', client.get(link).text)
    again = client.get(link.replace("compare?", "compared?")).text
    assert "iframe" in again
    assert "Not compared" not in again


def test_all_values_of_across_can_be_chosen() -> None:
    assert tuple(runs_page._ACROSS) == ACROSS


def test_requests_for_comparisons_are_checked(client: TestClient) -> None:
    two = "run=runs/bert&run=runs/roberta"
    for query, sentence in (
        ("", "at least two runs"),
        ("run=gpt&run=gpt", "at least two runs"),
        ("run=gpt&run=broken", "broken cannot be opened"),
        ("run=gpt&run=../x", "not a valid path"),
        (f"{two}&by=moon", "compared by &#39;moon&#39;"),
        (f"{two}&across=moons", "&#39;moons&#39; is not a property"),
    ):
        for path in ("compare", "compared", "comparison"):
            answer = client.get(f"/runs/{path}?{query}")
            assert (answer.status_code, sentence in answer.text) == (400, True), (path, query)


def test_runs_with_the_same_name_are_shown_with_their_paths(client: TestClient, work: Path) -> None:
    htmx(client, "/runs/describe", {"run": "runs/bert", "name": "same", "tags": ""})
    htmx(client, "/runs/describe", {"run": "runs/roberta", "name": "same", "tags": ""})
    text = client.get("/runs/compare?run=runs/bert&run=runs/roberta").text
    assert "<bdi>runs/bert</bdi>, <bdi>runs/roberta</bdi>" in text


def test_downloads(client: TestClient, work: Path) -> None:
    result = Result.load(work / "gpt")

    def text(name: str, more: str = "") -> Any:
        return client.get(f"/runs/download?run=gpt&as={name}{more}")

    assert text("measures").text.count("\n") == len(result.records) + 1
    assert text("scores").text.count("\n") == len(result.scores) + 1
    assert len(text("jsonl").text.splitlines()) == len(result.records)
    assert json.loads(text("lm-eval").text)["model_name"] == "gpt2"
    assert "model-index:" in text("model-card", "&model=gpt2").text
    assert text("scores").headers["Content-Disposition"] == "attachment; filename*=UTF-8''gpt.scores.csv"
    assert text("scores").headers["Content-Type"] == "text/csv; charset=utf-8"
    assert_mentions(text("model-card", "&model=x").text, "model")
    assert_mentions(html.unescape(text("passwords").text), "'passwords'", "model-card")
    page = client.get("/runs/open?run=gpt").text
    for name in ("measures", "scores", "jsonl", "model-card", "lm-eval"):
        assert f'href="/runs/download?as={name}&amp;run=gpt"' in page


def test_a_card_for_each_model(tmp_path: Path) -> None:
    one, two = small("one", 1), small("two", 2)
    manifest = replace(one.manifest, models=(build_model_entry({"name": "one"}), build_model_entry({"name": "two"})))
    save(tmp_path / "both", Result(one.scores, [*one.records, *two.records], manifest))
    with client_of(studio_on(tmp_path)) as client:
        page = html.unescape(client.get("/runs/open?run=both").text)
        links = re.findall(r'href="(/runs/download\?as=model-card[^"]+)"', page)
        assert links == [f"/runs/download?as=model-card&run=both&model={name}" for name in ("one", "two")]
        assert "choose one" in client.get("/runs/download?as=model-card&run=both").text


def test_names_and_tags(client: TestClient) -> None:
    answer = htmx(client, "/runs/describe", {"run": "gpt", "name": f"G {EVIL}", "tags": f"a, {EVIL}"})
    assert "saved" in answer.text
    for path in ("/runs", "/runs/open?run=gpt", "/runs/compare?run=gpt&run=runs/bert", "/runs?tag=a"):
        text = client.get(path).text
        assert EVIL not in text
        assert html.escape(EVIL) in text
    assert listed(client, "tag=a") == ["gpt"]
    assert (
        client.get("/runs/download?run=gpt&as=jsonl")
        .headers["Content-Disposition"]
        .endswith("G%20-script-alert-1---script-.measures.jsonl")
    )
    answer = htmx(client, "/runs/describe", {"run": "gpt", "name": "x" * 200})
    assert (answer.status_code, "at most 100" in answer.text) == (400, True)


def test_delete_and_restore(client: TestClient, work: Path) -> None:
    answer = htmx(client, "/runs/delete", {"run": "runs/bert"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (204, "/runs")
    assert not (work / "runs" / "bert").exists()
    assert "runs/bert" not in listed(client)
    page = client.get("/runs/trash").text
    (identifier,) = re.findall(r'name="deleted" value="(\w+)"', page)
    answer = htmx(client, "/runs/restore", {"deleted": identifier})
    assert answer.headers["HX-Redirect"] == "/runs/open?run=runs%2Fbert"
    assert "runs/bert" in listed(client)
    assert "The trash is empty" in client.get("/runs/trash").text


def test_a_broken_run_can_be_deleted(client: TestClient, work: Path) -> None:
    page = client.get("/runs/open?run=broken").text
    assert_mentions(page, "manifest.json cannot be read")
    assert "iframe" not in page
    assert "Download" not in page
    assert htmx(client, "/runs/delete", {"run": "broken"}).status_code == 204
    assert not (work / "broken").exists()


def test_the_run_of_an_active_job_can_be_neither_opened_nor_deleted(
    client: TestClient, work: Path, studio: Studio
) -> None:
    job = studio.workspace.state / "jobs" / "20260101-120000000000-abcdef"
    job.mkdir(parents=True)
    with JobLock(job):  # as in its process
        request = RunRequest(name="busy", models=("embedded",), on=("starter:en",))
        write_text(job / REQUEST, json.dumps(request.to_dict()))
        write(work / "runs" / "busy", {"scores.parquet": ""})
        assert '<span class="badge doubt">running</span>' in client.get("/runs?text=busy").text
        assert "This run is still running" in client.get("/runs/open?run=runs/busy").text
        for answer in (
            client.get("/runs/report?run=runs/busy"),
            client.get("/runs/compare?run=runs/busy&run=gpt"),
            htmx(client, "/runs/delete", {"run": "runs/busy"}),
        ):
            assert (answer.status_code, "busy is still running" in answer.text) == (400, True)
    assert (work / "runs" / "busy").is_dir()
    # The process is gone, and the files have not changed for a while.
    for path in (work / "runs" / "busy" / "scores.parquet", work / "runs" / "busy"):
        os.utime(path, (0, 0))
    assert htmx(client, "/runs/delete", {"run": "runs/busy"}).status_code == 204


def test_old_runs_in_the_trash_are_deleted_at_the_start(work: Path) -> None:
    with client_of(studio_on(work)) as client:
        htmx(client, "/runs/delete", {"run": "gpt"})
        htmx(client, "/runs/delete", {"run": "broken"})
    (old,) = [
        path for path in (work / ".tiltmeter-studio" / "trash").glob("*/origin.json") if "gpt" in path.read_text()
    ]
    fields = json.loads(old.read_text(encoding="utf-8"))
    fields["deleted"] = (datetime.now(UTC) - timedelta(days=31)).isoformat()
    old.write_text(json.dumps(fields), encoding="utf-8")
    with client_of(studio_on(work)) as client:
        assert "broken" in client.get("/runs/trash").text
        assert "gpt" not in client.get("/runs/trash").text
    assert not old.exists()


OUTSIDE = ("", "..", "../secret", "/etc", "runs/../../secret", "runs", "a\\b", ".tiltmeter-studio", "x%00y", "gpt/")


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_path_outside_is_read_or_written(name: str, work: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    save(work.parent / "secret", small("secret", 9))
    with client_of(studio_on(work)) as client:
        for path in ("open", "state", "report", "download", "compare", "compared", "comparison"):
            answer = client.get(f"/runs/{path}", params={"run": [name, "gpt"] if "compar" in path else name})
            assert answer.status_code == 400, path
            assert "secret on" not in answer.text
        for path in ("describe", "delete"):
            assert htmx(client, f"/runs/{path}", {"run": name, "name": "x"}).status_code == 400, path
        assert htmx(client, "/runs/restore", {"deleted": name}).status_code == 400
    assert (work.parent / "secret").is_dir()
    assert (work / "gpt").is_dir()


@pytest.mark.parametrize("name", ["manifest.json", "measures.json", "scores.parquet", "items.parquet"])
def test_links_in_a_run_are_not_followed(name: str, client: TestClient, work: Path) -> None:
    outside = save(work.parent / "secret", small("secret", 9))
    (work / "gpt" / name).unlink(missing_ok=True)
    (work / "gpt" / name).symlink_to(outside / name)
    assert_mentions(client.get("/runs").text, f"{name} is a symbolic")
    for path in ("state?", "report?", "download?as=scores&", "compare?run=runs/bert&"):
        answer = client.get(f"/runs/{path}run=gpt")
        assert (answer.status_code, "symbolic link" in answer.text) == (400, True)


def test_a_report_that_is_a_link_is_created_again(tmp_path: Path) -> None:
    (tmp_path / "secret.html").write_text("secret", encoding="utf-8")
    save(tmp_path / "run", small("bert", 1))
    (tmp_path / "run" / "report.html").symlink_to(tmp_path / "secret.html")
    assert not is_current(tmp_path / "run")


def test_reviewers_of_a_shared_studio_see_no_runs(work: Path) -> None:
    studio = studio_on(work, build_shared_config(work, "review.example.org"))
    add_studio_reviewer(work, "ada", "a long word")
    assert "/runs" not in [page.path for page in studio.pages]
    with client_of(studio, "reviewer", "ada") as client:
        for path in ("", "/list", "/open?run=gpt", "/report?run=gpt", "/download?run=gpt&as=scores", "/trash"):
            assert client.get(f"/runs{path}").status_code in (403, 404)
        assert htmx(client, "/runs/delete", {"run": "gpt"}).status_code in (403, 404)
    assert (work / "gpt").is_dir()


def test_a_biased_run_has_its_tone(tmp_path: Path) -> None:
    save(tmp_path / "bert", biased())
    with client_of(studio_on(tmp_path)) as client:
        assert '<div class="verdict-of towards">' in client.get("/runs").text
        assert listed(client, "tone=towards") == ["bert"]
        assert listed(client, "tone=against") == []
