"""Files of repositories without a licence: used after consent; their texts are not written to files."""

import hashlib
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.test_data import tiltmeter
from tests.datasets.conftest import Server
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.comparison import compare
from tiltmeter.datasets import DATASETS, Dataset, licence_consent
from tiltmeter.datasets import download_services as services
from tiltmeter.datasets.dataset_loader import explain_missing_texts
from tiltmeter.datasets.file_fetcher import fetch_file
from tiltmeter.datasets.licence_consent import MARK, accept_notice, show_notice
from tiltmeter.datasets.local_files import get_cached_path, is_local
from tiltmeter.datasets.upstream_files import Pin, UpstreamFile
from tiltmeter.errors import UsageError
from tiltmeter.forms.pairs import PairItem
from tiltmeter.making.project import create_project
from tiltmeter.reports.comparison_page import render_comparison_page
from tiltmeter.reports.report_page import make_report
from tiltmeter.runs.answer_table import drop_restricted_replies
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.result import Result

CONTENT = b"A mild sentence.\n"
PIN = Pin("sha256", hashlib.sha256(CONTENT).hexdigest())
FILE = UpstreamFile("owner/repo", "c0ffee", "data.txt", PIN, licence_stated=False)
NAME = "starter-pairs"


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILTMETER_MIRROR", raising=False)
    show_notice.cache_clear()


def test_a_file_is_downloaded_after_the_notice_was_accepted(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "GITHUB", server.url)
    server.content["/owner/repo/c0ffee/data.txt"] = CONTENT
    with raises_mentioning(UsageError, "owner/repo", "`tiltmeter data get NAME --accept-no-licence`"):
        fetch_file(FILE)
    assert server.asked == []
    accept_notice(FILE)
    path = fetch_file(FILE)
    assert path.read_bytes() == CONTENT
    assert (path.parent / MARK).read_text().startswith("owner/repo states no licence.")
    assert is_local(FILE)
    # Without the mark, a file in the cache is not used either.
    (path.parent / MARK).unlink()
    assert not is_local(FILE)
    with raises_mentioning(UsageError, "owner/repo", "licence"):
        fetch_file(FILE)


def test_a_mirror_s_files_are_one_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / FILE.name
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path))
    assert is_local(FILE)
    assert fetch_file(FILE) == fetch_file(FILE) == path
    assert capsys.readouterr().err.count("owner/repo states no licence.") == 1
    assert not get_cached_path(FILE).parent.exists()


def test_the_command_accepts_and_names_the_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [file for file in DATASETS["crows-negation"].files if isinstance(file, UpstreamFile)]
    with raises_mentioning(UsageError, "`tiltmeter data get crows-negation --accept-no-licence`"):
        tiltmeter("get", "crows-negation")
    monkeypatch.setattr("tiltmeter.datasets.file_fetcher.fetch_file", lambda file, dataset: Path(file.path))
    output = tiltmeter("get", "crows-negation", "--accept-no-licence").output
    assert output.split() == [file.path for file in files]
    assert all(licence_consent.is_notice_accepted(file) for file in files)


def test_the_catalogue_says_so() -> None:
    unlicensed = {name for name, data in DATASETS.items() if not data.has_stated_licence}
    assert {"crows-antistereotype", "crows-negation", "crows-pairs-revised", "slovak-gender"} <= unlicensed
    assert not unlicensed & {"crows-pairs", "rubia", "starter"}
    assert_mentions(tiltmeter("list", "crows-negation").output, "bias-methodology states no licence")


@pytest.fixture
def _unlicensed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dataset, "has_stated_licence", property(lambda data: data.name != NAME))


@pytest.mark.usefixtures("_unlicensed")
def test_texts_are_not_written(causal: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = evaluate(causal, NAME, limit=12, out=out)
    sentence = explain_missing_texts(NAME)
    assert_mentions(sentence, NAME, "licence")
    items = [item for source in DATASETS[NAME].sources for item in source.validate().items]
    for read in (result, Result.load(out)):
        assert read.texts is not None
        assert read.texts.empty
        assert sentence in read.manifest.notes
    report, _ = make_report([("run", Result.load(out))])
    compared = render_comparison_page(compare([("run", result)], by="language"))
    for page in (report, compared):
        assert sentence in page
        assert not [
            item.id for item in items if isinstance(item, PairItem) and (item.more in page or item.less in page)
        ]


@pytest.mark.usefixtures("_unlicensed")
def test_conversion_and_projects_are_refused(tmp_path: Path) -> None:
    for name in (NAME, f"{NAME}:en"):
        with raises_mentioning(UsageError, NAME, f"`tiltmeter data show {NAME}`"):
            tiltmeter("convert", name, tmp_path / "out.jsonl")
    with raises_mentioning(UsageError, NAME, "project"):
        create_project(tmp_path / "project", NAME, language="de", system="amazon")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_unlicensed")
def test_replies_that_may_quote_are_emptied() -> None:
    texts = {"reply": ["My aunt knits.", "A."], "thinking": ["She knits.", "First."]}
    emptied = drop_restricted_replies(pd.DataFrame({"benchmark": [NAME, "starter"], **texts}))
    assert emptied["reply"].tolist() == ["", "A."]
    assert emptied["thinking"].tolist() == ["", "First."]
