"""The list of runs: summaries, broken runs, cache, filters, names and tags."""

import os
import re
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.studio.made_runs import biased, save, small, write
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.reports.combined_runs import combine_runs
from tiltmeter.reports.record_rows import build_rows
from tiltmeter.reports.verdict_text import build_headlines
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_files import MANIFEST, MEASURES
from tiltmeter.studio import run_index
from tiltmeter.studio.run_index import ListedRun, RunFilter, RunIndex, list_choices
from tiltmeter.studio.run_summary import RunSummary, summarize_run
from tiltmeter.studio.studio_workspace import StudioWorkspace

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def index_of(folder: Path, *running: Path) -> RunIndex:
    return RunIndex(StudioWorkspace(folder), lambda: set(running))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Create three runs at three depths."""
    save(tmp_path / "runs" / "bert", biased(), DAY)
    save(tmp_path / "gpt", biased("gpt2", 38.0, "causal", "de"), DAY + timedelta(days=2))
    save(tmp_path / "a" / "b" / "even", biased("made/even", 50.0), DAY + timedelta(days=1))
    return tmp_path


def by_path(index: RunIndex) -> dict[str, ListedRun]:
    return {run.path: run for run in index.list_runs()}


def test_all_runs_are_listed_newest_first(work: Path) -> None:
    save(work / "a" / "b" / "c" / "too-deep", biased())
    save(work / ".hidden" / "run", biased())
    save(work / "runs" / "bert" / "inside", biased())
    (work / "link").symlink_to(work / "gpt")
    runs = index_of(work).list_runs()
    assert [run.path for run in runs] == ["gpt", "a/b/even", "runs/bert"]
    assert [run.name for run in runs] == ["gpt", "even", "bert"]
    summary = runs[0].summary
    assert (summary.models, summary.languages, summary.items) == (("gpt2",), ("de",), 400)
    assert summary.finished == "2026-03-03T00:00:00+00:00"


def test_verdicts_are_those_of_the_report(work: Path) -> None:
    for path, run in by_path(index_of(work)).items():
        gathered = combine_runs([("", Result.load(work / path))])
        (expected,) = build_headlines(build_rows(gathered.records))
        (shown,) = run.summary.benchmarks
        assert (shown.name, shown.tone, shown.lead) == (expected.benchmark, expected.tone, expected.lead)
        (ruler,) = shown.rulers
        value = next(r.value for r in gathered.records if (r.measure, r.part, r.view) == ("SS", "overall", "all"))
        assert (ruler.measure, ruler.value) == ("SS", f"{value:.1f}")
        assert ruler.ruler.low < ruler.ruler.value < ruler.ruler.high
    tones = {path: run.summary.tones for path, run in by_path(index_of(work)).items()}
    assert tones == {"runs/bert": {"towards"}, "gpt": {"against"}, "a/b/even": {"none"}}


def test_a_summary_is_stored_and_read_again_only_if_the_run_changes(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(folder: Path) -> RunSummary:
        read.append(folder.name)
        return summarize_run(folder)

    monkeypatch.setattr(run_index, "summarize_run", counted)
    first = index_of(work).list_runs()
    assert sorted(read) == ["bert", "even", "gpt"]
    read.clear()
    assert index_of(work).list_runs() == first
    assert read == []
    save(work / "gpt", biased("gpt2", 62.0, "causal", "de"), DAY)
    assert by_path(index_of(work))["gpt"].summary.tones == {"towards"}
    assert read == ["gpt"]
    os.utime(work / "runs" / "bert" / MEASURES, ns=(1, 1))
    monkeypatch.setattr(run_index, "_FORMAT", "another version")
    index_of(work).list_runs()
    assert sorted(read) == ["bert", "even", "gpt", "gpt"]


def test_the_summary_of_a_removed_run_is_deleted(work: Path) -> None:
    index = index_of(work)
    index.list_runs()
    shutil.rmtree(work / "gpt")
    index.list_runs()
    with index._open_store() as store:
        assert set(store.read_summaries()) == {"runs/bert", "a/b/even"}


def test_the_tables_of_a_run_are_not_read(work: Path) -> None:
    before = index_of(work).list_runs()
    for path in work.rglob("*.parquet"):
        path.write_bytes(b"nothing")
    (work / ".tiltmeter-studio" / "studio.sqlite").unlink()
    assert [run.summary for run in index_of(work).list_runs()] == [run.summary for run in before]


def test_reading_stops_in_time_and_continues_later(work: Path) -> None:
    for number in range(1, 4):
        runs = index_of(work).list_runs(seconds=0)
        assert [run.is_read for run in sorted(runs, key=lambda run: -run.changed)] == [True] * number + [False] * (
            3 - number
        )
    assert all(run.is_whole for run in runs)


EMPTY: dict[str, Any] = {"request": {}, "models": [], "data": [], "asked": [], "refused": [], "skipped": []}
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "unfinished": ({"scores.parquet": "", MEASURES: []}, "manifest.json is missing"),
    "no measures": ({MANIFEST: EMPTY}, "measures.json is missing"),
    "cut": ({MANIFEST: '{"models": [', MEASURES: []}, "manifest.json cannot be read"),
    "no object": ({MANIFEST: [1], MEASURES: []}, "manifest.json is not valid"),
    "no rows": ({MANIFEST: EMPTY, MEASURES: {"a": 1}}, "measures.json is not valid"),
    "other rows": ({MANIFEST: EMPTY, MEASURES: [{"view": "all"}]}, "measures.json cannot be read"),
    "deep": ({MANIFEST: EMPTY, MEASURES: "[" * 100_000}, "measures.json cannot be read"),
    "other data": ({MANIFEST: {**EMPTY, "data": [{"items": "x"}]}, MEASURES: []}, "entry 1 of 'data'"),
    "other models": ({MANIFEST: {**EMPTY, "models": 4}, MEASURES: []}, "'models'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_run_is_listed_with_its_problem(name: str, tmp_path: Path) -> None:
    files, problem = BROKEN[name]
    write(tmp_path / "broken", files)
    (run,) = index_of(tmp_path).list_runs()
    assert problem in run.summary.problem
    assert not run.is_whole
    assert index_of(tmp_path).get_run("broken").summary == run.summary
    with raises_mentioning(UsageError, "broken cannot be opened", ".json"):
        index_of(tmp_path).get_finished_run("broken")


def test_an_unknown_measure_or_verdict_is_a_problem(work: Path) -> None:
    path = work / "gpt" / MEASURES
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"kind": "significant"', '"kind": "perhaps"'), encoding="utf-8")
    assert "cannot be read" in by_path(index_of(work))["gpt"].summary.problem
    path.write_text(text.replace('"measure": "SS"', '"measure": "SSS"'), encoding="utf-8")
    listed = by_path(index_of(work))["gpt"].summary
    assert listed.problem or not listed.benchmarks[0].rulers


def test_a_folder_whose_name_cannot_be_used_is_listed_without_a_path(tmp_path: Path) -> None:
    try:
        write(tmp_path / os.fsdecode(b"x\xff"), {MANIFEST: {}})
    except OSError:
        pytest.skip("this file system has only names in UTF-8")
    write(tmp_path / "a:b", {MANIFEST: {}})
    runs = index_of(tmp_path).list_runs()
    assert {(run.path, run.name) for run in runs} == {("", "x⟨U+DCFF⟩"), ("", "a:b")}
    assert all("rename" in run.summary.problem for run in runs)


def test_unsafe_characters_are_shown_by_code_point(tmp_path: Path) -> None:
    save(tmp_path / "run", small("evil\u202e<b>", 1))
    (run,) = index_of(tmp_path).list_runs()
    assert run.summary.models == ("evil⟨U+202E⟩<b>",)


def test_search_and_filters(work: Path) -> None:
    index = index_of(work)
    index.write_description("gpt", name="The German one")
    index.write_description("gpt", tags="paper, draft")
    runs = index.list_runs()

    def kept(**given: str) -> list[str]:
        return [run.path for run in runs if RunFilter(**given).is_listed(run)]

    assert kept() == ["gpt", "a/b/even", "runs/bert"]
    assert kept(text="GERMAN") == kept(text="german one") == kept(text="draft") == ["gpt"]
    assert kept(text="made BERT") == ["runs/bert"]
    assert kept(text="english stereoset") == ["a/b/even", "runs/bert"]
    assert kept(text="bert german") == []
    assert kept(tone="towards") == ["runs/bert"]
    assert kept(tone="none") == ["a/b/even"]
    assert kept(language="de") == kept(tag="paper") == ["gpt"]
    assert kept(benchmark="stereoset", language="en", tone="none") == ["a/b/even"]
    assert kept(benchmark="stereo") == kept(tag="pap") == []
    found = list_choices(runs)
    assert (found.benchmarks, found.languages, found.tags) == (["stereoset"], ["en", "de"], ["draft", "paper"])


def test_names_and_tags(work: Path) -> None:
    index = index_of(work)
    index.write_description("gpt", name="  my \n name ")
    index.write_description("gpt", tags=" b,a ; b\n,, c ")
    run = index_of(work).get_run("gpt")
    assert (run.name, run.tags) == ("my name", ("a", "b", "c"))
    assert by_path(index)["gpt"].name == "my name"
    index.write_description("gpt", name="")
    index.write_description("gpt", tags="")
    assert (index.get_run("gpt").name, index.get_run("gpt").tags) == ("gpt", ())
    with raises_mentioning(UsageError, "101 characters", "100"):
        index.write_description("gpt", name="x" * 101)
    with raises_mentioning(UsageError, "tag xxx", "31 characters"):
        index.write_description("gpt", tags="x" * 31)
    with raises_mentioning(UsageError, "The tag"):
        index.write_description("gpt", name="not kept", tags="x" * 31)
    assert index.get_run("gpt").name == "gpt"
    with raises_mentioning(UsageError, "13 tags", "12"):
        index.write_description("gpt", tags=",".join(map(str, range(13))))


@pytest.mark.parametrize("path", ["", ".", "..", "../x", "/etc", "runs/../../x", "runs", ".tiltmeter-studio", "a\0b"])
def test_only_runs_of_the_workspace_can_be_named(path: str, work: Path) -> None:
    index = index_of(work / "runs")
    for action in (index.get_run, index.get_finished_run, lambda path: index.write_description(path, name="x")):
        with raises_mentioning(UsageError, "workspace"):
            action(path)


def test_the_run_of_an_active_job_is_marked(work: Path) -> None:
    index = index_of(work, work / "gpt", Path("/elsewhere"))
    assert [run.path for run in index.list_runs() if run.running] == ["gpt"]
    assert not by_path(index)["gpt"].is_whole
    with raises_mentioning(UsageError, "still running"):
        index.get_finished_run("gpt")


def test_a_changed_byte_in_the_list_changes_no_number(work: Path) -> None:
    index = index_of(work)
    before = by_path(index)
    path = work / ".studio" / "studio.sqlite"
    path = next(work.glob("*/studio.sqlite")) if not path.exists() else path
    with sqlite3.connect(path) as database:
        for place, text in database.execute("SELECT path, summary FROM run_summary").fetchall():
            changed = re.sub(r"(?<=\d)\d(?=\D)", lambda found: str((int(found[0]) + 1) % 10), text, count=1)
            assert changed != text
            database.execute("UPDATE run_summary SET summary = ? WHERE path = ?", [changed, place])
    assert by_path(index) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_run_with_a_named_pipe_is_listed_with_the_problem(work: Path) -> None:
    (work / "gpt" / MEASURES).unlink()
    os.mkfifo(work / "gpt" / MEASURES)
    assert "not a regular file" in summarize_run(work / "gpt").problem
