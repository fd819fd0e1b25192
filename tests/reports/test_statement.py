"""The statement: its findings are those of the report, it names its limits and hashes, and claims no compliance."""

import hashlib
import json
import re
from pathlib import Path

import pytest

import tiltmeter
from tests.runs.made import association_scores, chosen_scores, run, saved
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.reports.record_rows import build_rows
from tiltmeter.reports.statement_page import load_annex, make_statement
from tiltmeter.reports.verdict_text import build_headlines
from tiltmeter.runs.run_files import MANIFEST

OLD = Path(__file__).resolve().parents[1] / "runs" / "run_of_0_1"


def read_text(html: str) -> str:
    """Return the text of a page without its tags."""
    return re.sub(r"<[^>]+>", " ", html.partition("<body>")[2]).replace("&#39;", "'").replace("&#34;", '"')


def test_the_finding_is_the_headline_of_the_report() -> None:
    result = run(chosen_scores(ss=70.0))
    text = read_text(make_statement(result, "Example Ltd"))
    (headline,) = build_headlines(build_rows(result.records))
    assert_mentions(text, headline.lead, "Example Ltd", "beyond 5 points", "SS 70.0")


def test_a_doubtful_result_is_stated_as_such() -> None:
    unclear, clear = (
        read_text(make_statement(run(scores), "Example Ltd"))
        for scores in (association_scores(n=12, lean=0.3), chosen_scores(ss=70.0))
    )
    assert "no evidence for the absence of bias" in unclear
    assert "no evidence for the absence of bias" not in clear


def test_the_command_writes_hashes_data_and_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "statement.html"
    assert command(monkeypatch, "statement", str(OLD), "--by", "Ana <b>& Co", "--out", str(out)) == 0
    html = out.read_text(encoding="utf-8")
    manifest = json.loads((OLD / MANIFEST).read_text(encoding="utf-8"))
    digests = [hashlib.sha256((OLD / MANIFEST).read_bytes()).hexdigest(), manifest["models"][0]["weights"]]
    digests += [digest for entry in manifest["data"] for digest in entry["files"].values()]
    assert_mentions(read_text(html), *digests, manifest["finished"], "sample", "published")
    assert "Ana &lt;b&gt;&amp; Co" in html
    assert "<script" not in html
    assert not re.search(r"(?:src|href)=", html)


def test_the_default_file_is_in_the_folder_of_the_run(tmp_path: Path) -> None:
    folder = Path(saved(tmp_path / "run", run(chosen_scores(ss=70.0))))
    assert tiltmeter.statement(folder, by="Example Ltd") == folder / "statement.html"
    assert (folder / "statement.html").is_file()


def test_a_changed_manifest_is_stated(tmp_path: Path) -> None:
    folder = Path(saved(tmp_path / "run", run(chosen_scores(ss=70.0))))
    path = folder / MANIFEST
    path.write_text(path.read_text("utf-8").replace('"finished": "', '"finished": "2'), encoding="utf-8")
    text = read_text(tiltmeter.statement(folder, by="Example Ltd").read_text("utf-8"))
    assert_mentions(text, "manifest.json was changed")


def test_the_annex_names_provisions_with_source_and_date_and_claims_no_compliance() -> None:
    act, nist = load_annex()
    assert {entry.provision for entry in act.entries} >= {"Article 10(2)(f)", "Article 53(1)(a) and Annex XI"}
    assert any("15" in entry.provision for entry in act.entries)
    assert any("MEASURE 2.11" in entry.provision for entry in nist.entries)
    for part in (act, nist):
        assert re.search(r"20\d\d", part.as_of)
        assert part.source.startswith("https://")
        assert not re.search(r"complian|complies|conform", " ".join(entry.evidence for entry in part.entries), re.I)


@pytest.mark.parametrize(("by", "named"), [("  ", "--by"), ("x" * 201, "201")])
def test_a_wrong_name_is_an_error_before_anything_is_written(by: str, named: str, tmp_path: Path) -> None:
    with raises_mentioning(UsageError, named):
        tiltmeter.statement(OLD, tmp_path / "page.html", by=by)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written_are_errors(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, str(tmp_path), "statement.html"):
        tiltmeter.statement(OLD, tmp_path, by="Example Ltd")
    with raises_mentioning(UsageError, "out"):
        tiltmeter.statement(run(chosen_scores(ss=70.0)), by="Example Ltd")
