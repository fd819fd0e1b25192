import hashlib
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.messages import raises_mentioning
from tests.support.patience import PATIENCE
from tiltmeter.datasets import download_services as services
from tiltmeter.datasets import file_fetcher as fetching
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.file_fetcher import fetch_file
from tiltmeter.datasets.local_files import get_cached_path, is_local
from tiltmeter.datasets.upstream_files import Pin, UpstreamFile
from tiltmeter.errors import DownloadError, UsageError
from tiltmeter.progress.progress import Progress, ReportProgress

CONTENT = b"A mild sentence, many times over.\n" * 20_000
FILE = UpstreamFile("owner/repo", "c0ffee", "data/my file.txt", Pin("sha256", hashlib.sha256(CONTENT).hexdigest()))
IN_MIRROR = "/mirror/owner/repo/data/my%20file.txt"


@pytest.fixture
def http_mirror(server, monkeypatch):
    """The test server, set as the mirror and serving the file."""
    server.content[IN_MIRROR] = CONTENT
    monkeypatch.setenv("TILTMETER_MIRROR", f"{server.url}/mirror/")
    return server


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch):
    monkeypatch.delenv("TILTMETER_MIRROR", raising=False)


def leftovers() -> list[str]:
    files = [path for path in get_cache_folder().rglob("*") if path.is_file()]
    return [path.name for path in files if path.suffix != ".lock" and path.parent.name != "vega"]


def test_downloads_once_from_the_service_at_the_pinned_commit(server, monkeypatch):
    monkeypatch.setattr(services, "GITHUB", server.url)
    server.content["/owner/repo/c0ffee/data/my%20file.txt"] = CONTENT
    assert not is_local(FILE)
    path = fetch_file(FILE)
    assert path.read_bytes() == CONTENT
    assert path.is_relative_to(get_cache_folder())
    assert is_local(FILE)
    assert fetch_file(FILE) == path
    assert len(server.asked) == 1
    assert leftovers() == [path.name]


def test_an_http_mirror_replaces_the_service(http_mirror):
    assert fetch_file(FILE).read_bytes() == CONTENT
    assert http_mirror.asked == [(IN_MIRROR, 0)]


def test_nothing_is_downloaded_offline(http_mirror, monkeypatch):
    monkeypatch.setenv("TILTMETER_OFFLINE", "1")
    with raises_mentioning(DownloadError, FILE.name, "TILTMETER_OFFLINE", "--prefetch"):
        fetch_file(FILE)
    assert http_mirror.asked == []
    monkeypatch.delenv("TILTMETER_OFFLINE")
    path = fetch_file(FILE)
    monkeypatch.setenv("TILTMETER_OFFLINE", "1")
    assert fetch_file(FILE) == path


def test_a_git_blob_id_is_a_pin_too(http_mirror):
    blob = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
    assert fetch_file(UpstreamFile(FILE.repository, FILE.commit, FILE.path, Pin("git-blob", blob))).is_file()


def test_a_missing_file_is_not_retried(http_mirror):
    http_mirror.content.clear()
    with raises_mentioning(DownloadError, FILE.name, "answers 404", "TILTMETER_MIRROR"):
        fetch_file(FILE)
    assert len(http_mirror.asked) == 1


def test_a_wrong_hash_leaves_nothing_behind(http_mirror):
    http_mirror.content[IN_MIRROR] = b"something else"
    wrong = hashlib.sha256(b"something else").hexdigest()
    with raises_mentioning(DownloadError, FILE.name, str(FILE.pin), wrong, "TILTMETER_MIRROR"):
        fetch_file(FILE)
    assert leftovers() == []
    http_mirror.content[IN_MIRROR] = CONTENT
    assert fetch_file(FILE).read_bytes() == CONTENT


def test_a_spoilt_file_in_the_cache_is_fetched_again(http_mirror):
    path = fetch_file(FILE)
    path.write_bytes(CONTENT[:-1])
    assert fetch_file(FILE).read_bytes() == CONTENT


def test_goes_on_where_the_connection_was_cut(http_mirror):
    http_mirror.cuts = [100_000, 50_000]
    assert fetch_file(FILE).read_bytes() == CONTENT
    assert [start for _, start in http_mirror.asked] == [0, 100_000, 150_000]


def test_every_byte_of_progress_resets_the_retries(http_mirror):
    http_mirror.cuts = [60_000] * 11
    assert fetch_file(FILE).read_bytes() == CONTENT
    assert len(http_mirror.asked) == 12


def test_goes_on_from_an_earlier_run(http_mirror):
    path = get_cached_path(FILE)
    path.parent.mkdir(parents=True)
    path.with_name(path.name + ".part").write_bytes(CONTENT[:1234])
    assert fetch_file(FILE).read_bytes() == CONTENT
    assert [start for _, start in http_mirror.asked] == [1234]


def test_starts_over_where_the_server_cannot_go_on(http_mirror):
    http_mirror.ranges = False
    http_mirror.cuts = [100_000]
    assert fetch_file(FILE).read_bytes() == CONTENT
    assert [start for _, start in http_mirror.asked] == [0, 100_000]


def test_gives_up_on_a_server_that_always_cuts_at_the_same_place(http_mirror):
    http_mirror.ranges = False
    http_mirror.cuts = [100_000] * 100
    with raises_mentioning(DownloadError, "100000 bytes", "680000"):
        fetch_file(FILE)
    assert len(http_mirror.asked) == 4


@pytest.mark.parametrize("held", [CONTENT, CONTENT + b"more"], ids=["whole", "too long"])
def test_starts_over_when_there_is_nothing_after_what_it_holds(http_mirror, held):
    path = get_cached_path(FILE)
    path.parent.mkdir(parents=True)
    path.with_name(path.name + ".part").write_bytes(held)
    assert fetch_file(FILE).read_bytes() == CONTENT
    assert [start for _, start in http_mirror.asked] == [len(held), 0]


def test_tries_again_after_a_failure_that_may_pass(http_mirror):
    http_mirror.statuses = [503, 429]
    assert fetch_file(FILE).read_bytes() == CONTENT
    assert len(http_mirror.asked) == 3


def test_a_server_that_goes_on_failing(http_mirror):
    http_mirror.statuses = [500] * 100
    with raises_mentioning(DownloadError, "500"):
        fetch_file(FILE)
    assert len(http_mirror.asked) == 4


def test_offline_with_an_empty_cache(server, monkeypatch):
    # Nothing listens on port 1.
    monkeypatch.setattr(services, "GITHUB", "http://127.0.0.1:1")
    with raises_mentioning(DownloadError, FILE.name, "127.0.0.1:1", "internet", "TILTMETER_MIRROR") as caught:
        fetch_file(FILE)
    assert "\n" not in str(caught.value)


def test_offline_with_the_file_cached(http_mirror, monkeypatch):
    path = fetch_file(FILE)
    monkeypatch.delenv("TILTMETER_MIRROR")
    monkeypatch.setattr(services, "GITHUB", "http://127.0.0.1:1")
    assert fetch_file(FILE) == path


def start_together(barrier):
    globals()["TOGETHER"] = barrier


def fetch_together(file):
    globals()["TOGETHER"].wait(PATIENCE)
    return fetch_file(file)


def test_two_processes_download_once(http_mirror):
    context = multiprocessing.get_context("spawn")
    with context.Pool(2, initializer=start_together, initargs=[context.Barrier(2)]) as pool:
        paths = pool.map(fetch_together, [FILE, FILE], chunksize=1)
    assert {path.read_bytes() for path in paths} == {CONTENT}
    assert len(http_mirror.asked) == 1


def test_a_mirror_folder_is_used_in_place(tmp_path, monkeypatch):
    path = tmp_path / "owner/repo/data/my file.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path))
    assert is_local(FILE)
    assert fetch_file(FILE) == path
    assert leftovers() == []


def test_a_wrong_file_in_a_mirror_folder_is_named_and_kept(tmp_path, monkeypatch):
    path = tmp_path / "owner/repo/data/my file.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"something else")
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path))
    with raises_mentioning(DownloadError, str(path), str(FILE.pin)):
        fetch_file(FILE)
    assert path.read_bytes() == b"something else"


def test_a_mirror_folder_without_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path))
    with raises_mentioning(DownloadError, str(tmp_path), FILE.name, "https://raw"):
        fetch_file(FILE)


def test_a_mirror_folder_without_the_file_but_the_cache_with_it(http_mirror, tmp_path, monkeypatch):
    path = fetch_file(FILE)
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path))
    assert fetch_file(FILE) == path


def test_a_mirror_that_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path / "nowhere"))
    with raises_mentioning(UsageError, "TILTMETER_MIRROR", "nowhere"):
        fetch_file(FILE)


def test_a_cache_that_cannot_be_written(http_mirror, tmp_path, monkeypatch):
    blocked = tmp_path / "a file, not a folder"
    blocked.touch()
    monkeypatch.setenv("TILTMETER_CACHE", str(blocked))
    with raises_mentioning(DownloadError, str(blocked), "TILTMETER_CACHE"):
        fetch_file(FILE)


def test_a_full_disk_is_not_taken_for_a_lost_connection(http_mirror, monkeypatch):
    def full(*_: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fetching, "download_file", full)
    with raises_mentioning(DownloadError, "No space left"):
        fetch_file(FILE)


def test_progress_is_reported_to_the_callback(http_mirror):
    reports: list[Progress] = []
    names: list[str] = []

    @contextmanager
    def show(name: str) -> Iterator[ReportProgress]:
        names.append(name)
        yield reports.append

    http_mirror.cuts = [100_000]
    fetch_file(FILE, show)
    assert names == [FILE.name]
    assert reports[0] == Progress(0, len(CONTENT))
    assert Progress(100_000, len(CONTENT)) in reports
    assert reports[-1] == Progress(len(CONTENT), len(CONTENT))
    fetch_file(FILE, show)
    assert names == [FILE.name]
