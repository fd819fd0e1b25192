"""Files without a known hash, wrong responses of servers, and passwords of mirrors and proxies."""

import hashlib
import os
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest

from tests.datasets.conftest import Server, build_handler
from tests.studio.certificate import certificate
from tests.support.command import command
from tests.support.messages import raises_mentioning
from tests.support.serving import serving
from tiltmeter.datasets import download_services as services
from tiltmeter.datasets import file_fetcher as fetching
from tiltmeter.datasets import http_download, recorded_hashes
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.file_fetcher import fetch_file
from tiltmeter.datasets.local_files import get_cached_path
from tiltmeter.datasets.recorded_hashes import get_record_path
from tiltmeter.datasets.upstream_files import Pin, Repository, UpstreamFile
from tiltmeter.errors import DownloadError

CONTENT = b"-1.25\n0.5\n" * 3_000
FILE = UpstreamFile("owner/repo", "c0ffee", "data/model_template-0.txt", Pin("commit", ""))
TABLE = UpstreamFile("owner/repo", "c0ffee", "data/table.csv", Pin("commit", ""))
JSON = UpstreamFile("owner/repo", "c0ffee", "data/scores.json", Pin("commit", ""))
PINNED = UpstreamFile(
    "owner/repo", "c0ffee", FILE.path, Pin("sha256", hashlib.sha256(CONTENT).hexdigest()), len(CONTENT)
)
PASSWORD = "hunter2-and-more"
LOGIN = f"Basic {b64encode(f'ada:{PASSWORD}'.encode()).decode()}"
PAGE = b"\n<!DOCTYPE html><title>Log in</title>"


@pytest.fixture
def webs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Server]]:
    """Two servers."""
    monkeypatch.setattr(http_download, "PAUSES", (0.0,))
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    servers = [Server(), Server()]
    with ExitStack() as stack:
        for web in servers:
            web.url = stack.enter_context(serving(build_handler(web)))
        yield servers


@pytest.fixture
def web(webs: list[Server], monkeypatch: pytest.MonkeyPatch) -> Server:
    """The first server as the mirror, with all files."""
    monkeypatch.setenv("TILTMETER_MIRROR", webs[0].url)
    webs[0].content[f"/{FILE.name}"] = CONTENT
    return webs[0]


def in_cache() -> list[str]:
    files = [path for path in get_cache_folder().rglob("*") if path.is_file()]
    return sorted(path.name for path in files if path.suffix != ".lock" and path.parent.name != "vega")


def test_the_hash_of_the_first_download_is_recorded_and_checked(web: Server) -> None:
    path = fetch_file(FILE)
    assert get_record_path(FILE).read_text() == f"{hashlib.sha256(CONTENT).hexdigest()}  {path.name}\n"
    assert fetch_file(FILE) == path
    assert len(web.asked) == 1
    path.write_bytes(b"1\n2\n")
    assert fetch_file(FILE).read_bytes() == CONTENT  # spoilt in the cache, whole on the server


def test_another_file_than_the_first_is_refused(web: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch_file(FILE).unlink()
    web.content[f"/{FILE.name}"] = b"1\n2\n"
    first = hashlib.sha256(CONTENT).hexdigest()
    with raises_mentioning(DownloadError, "downloaded first", first, f"delete {get_record_path(FILE)}"):
        fetch_file(FILE)
    assert in_cache() == [get_record_path(FILE).name]
    (tmp_path / FILE.name).parent.mkdir(parents=True)
    (tmp_path / FILE.name).write_bytes(b"1\n2\n")
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path))
    with raises_mentioning(DownloadError, "downloaded first", str(tmp_path)):
        fetch_file(FILE)
    get_record_path(FILE).unlink()
    assert fetch_file(FILE) == tmp_path / FILE.name


@pytest.mark.parametrize(
    ("file", "page", "words"),
    [
        (FILE, PAGE, "a web page"),
        (FILE, b"\xef\xbb\xbf<html><body>", "a web page"),
        (PINNED, PAGE, "a web page"),
        (FILE, b"404: Not Found", "not a list of numbers"),
        (FILE, b"  \n", "an empty file"),
        (TABLE, b"<?xml version='1.0'?><Error/>", "a web page"),
        (TABLE, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
        (TABLE, b"Try later\n", "not a table"),
        (TABLE, b"a,b\n\xff\xfe", "not UTF-8"),
        (JSON, b'{"message": "Not Found", "status": "404"}', "an error message"),
        (JSON, b"Not Found", "not JSON"),
        (JSON, b'"Not Found"', "not a JSON object"),
        (JSON, b"[" * 100_000, "not JSON"),
    ],
)
def test_a_wrong_page_is_not_kept(web: Server, file: UpstreamFile, page: bytes, words: str) -> None:
    good = {FILE: CONTENT, PINNED: CONTENT, TABLE: b"a,b\n1,2\n", JSON: b'{"data": [1]}'}[file]
    web.content[f"/{file.name}"] = page
    with raises_mentioning(DownloadError, words):
        fetch_file(file)
    assert in_cache() == []
    web.content[f"/{file.name}"] = good
    assert fetch_file(file).read_bytes() == good


def test_a_wrong_page_that_was_cached_before_is_replaced(web: Server) -> None:
    get_cached_path(FILE).parent.mkdir(parents=True)
    get_cached_path(FILE).write_bytes(PAGE)
    assert fetch_file(FILE).read_bytes() == CONTENT


def test_a_file_that_was_cached_before_is_recorded(web: Server) -> None:
    get_cached_path(FILE).parent.mkdir(parents=True)
    get_cached_path(FILE).write_bytes(CONTENT)
    fetch_file(FILE)
    assert get_record_path(FILE).is_file()
    assert web.asked == []


def test_two_halves_of_different_pages_are_not_joined(web: Server) -> None:
    part = get_cached_path(FILE).with_name(get_cached_path(FILE).name + ".part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"7\n" * 10)
    assert fetch_file(FILE).read_bytes() == CONTENT


@pytest.mark.parametrize("make", [Path.symlink_to, Path.hardlink_to])
@pytest.mark.parametrize("file", [FILE, PINNED])
def test_a_link_in_place_of_the_part_is_not_followed(web: Server, tmp_path: Path, make, file: UpstreamFile) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(CONTENT[:100])
    part = get_cached_path(file).with_name(get_cached_path(file).name + ".part")
    part.parent.mkdir(parents=True)
    make(part, victim)
    assert fetch_file(file).read_bytes() == CONTENT
    assert victim.read_bytes() == CONTENT[:100]
    assert not fetch_file(file).is_symlink()


@pytest.mark.parametrize("sends_length", [True, False])
def test_a_file_that_is_too_large_is_not_received(
    web: Server, sends_length: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.sends_length = sends_length
    web.content[f"/{FILE.name}"] = CONTENT + b"1\n"
    with raises_mentioning(DownloadError, f"{len(CONTENT):,} bytes"):
        fetch_file(PINNED)
    monkeypatch.setattr(fetching, "LARGEST", 1000)
    with raises_mentioning(DownloadError, "1,000 bytes"):
        fetch_file(FILE)
    assert in_cache() == []


def test_a_server_that_hardly_sends_anything(web: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    web.content[f"/{FILE.name}"] = CONTENT * 50
    monkeypatch.setattr(http_download, "SPEED", 1e300)
    monkeypatch.setattr(http_download, "WINDOW", 1e-12)
    with raises_mentioning(DownloadError, "cannot be reached", "less than"):
        fetch_file(FILE)


def test_redirects_are_followed_without_the_password(webs: list[Server], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = webs
    first.needs = ("Authorization", LOGIN)
    first.redirects = {f"/{FILE.name}": "/moved", "/moved": f"{second.url}/elsewhere"}
    second.content["/elsewhere"] = CONTENT
    monkeypatch.setenv("TILTMETER_MIRROR", first.url.replace("//", f"//ada:{PASSWORD}@"))
    assert fetch_file(FILE).read_bytes() == CONTENT
    assert [path for path, _ in first.asked] == [f"/{FILE.name}", "/moved"]
    assert second.headers[0].get("Authorization") is None


@pytest.mark.parametrize("place", ["ftp://127.0.0.1/file", "file:///etc/hostname"])
def test_redirects_to_other_schemes_are_refused(web: Server, place: str) -> None:
    web.redirects[f"/{FILE.name}"] = place
    with pytest.raises(DownloadError):
        fetch_file(FILE)
    assert in_cache() == []


def secrets_in(text: str) -> bool:
    return PASSWORD in text or "p%40ss" in text or LOGIN.split()[1] in text


def test_a_mirror_with_a_password(web: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    web.needs = ("Authorization", LOGIN)
    with raises_mentioning(DownloadError, "answers 401"):
        fetch_file(FILE)
    monkeypatch.setenv("TILTMETER_MIRROR", web.url.replace("//", f"//ada:{PASSWORD}@"))
    assert fetch_file(FILE).read_bytes() == CONTENT
    assert not any(secrets_in(path.read_text()) for path in get_cache_folder().rglob("*") if path.is_file())


@pytest.mark.parametrize("failure", ["missing", "wrong", "down", "bad address", "redirect"])
def test_a_password_of_a_mirror_is_in_no_message(
    web: Server,
    failure: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = {"down": "http://127.0.0.1:1", "bad address": "ftp://127.0.0.1"}.get(failure, web.url)
    monkeypatch.setenv("TILTMETER_MIRROR", address.replace("//", f"//ada:{PASSWORD}@"))
    web.content = {f"/{TABLE.name}": PAGE} if failure == "wrong" else {}
    if failure == "redirect":
        web.redirects[f"/{TABLE.name}"] = f"ftp://ada:{PASSWORD}@127.0.0.1/"
    monkeypatch.setattr(fetching, "fetch_file", lambda file, dataset: fetch_file(TABLE))
    assert command(monkeypatch, "--debug", "data", "get", "gest:en") == 2
    printed = "".join(capsys.readouterr())
    assert len(printed) > 100
    assert not secrets_in(printed)


def test_a_proxy_with_a_password(webs: list[Server], monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = webs[0]
    proxy.needs = ("Proxy-Authorization", LOGIN)
    monkeypatch.delenv("TILTMETER_MIRROR", raising=False)
    monkeypatch.setattr(services, "GITHUB", "http://files.example")
    monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//ada:wrong-p%40ss-word@"))
    with raises_mentioning(DownloadError, "407") as caught:
        fetch_file(FILE)
    assert not secrets_in(str(caught.value))
    monkeypatch.setenv("http_proxy", proxy.url.replace("//", f"//ada:{PASSWORD}@"))
    proxy.content["http://files.example/owner/repo/c0ffee/data/model_template-0.txt"] = CONTENT
    assert fetch_file(FILE).read_bytes() == CONTENT
    assert not any(secrets_in(path.read_text()) for path in get_cache_folder().rglob("*") if path.is_file())


def test_pin_prints_the_hashes_of_the_files_that_are_here(
    web: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = {FILE.path: FILE, TABLE.path: TABLE}
    repository = Repository(FILE.repository, FILE.commit, "", "", "", listed)
    monkeypatch.setattr(recorded_hashes, "load_repositories", lambda: {FILE.repository: repository})
    fetch_file(FILE)
    assert command(monkeypatch, "data", "pin") == 0
    printed = capsys.readouterr()
    pinned = f'"{FILE.path}" = "sha256:{hashlib.sha256(CONTENT).hexdigest()} {len(CONTENT)}"'
    assert printed.out.splitlines() == ["# owner/repo at c0ffee", pinned]
    assert printed.err.startswith("1 of 2 files ")


class Tunnel(BaseHTTPRequestHandler):
    """A proxy that connects to the port that was asked for on this machine, after a login."""

    logins: ClassVar[list[str | None]] = []

    def do_CONNECT(self) -> None:
        self.logins.append(self.headers.get("Proxy-Authorization"))
        if self.logins[-1] != LOGIN:
            self.send_error(407)
            return
        with socket.create_connection(("127.0.0.1", int(self.path.rpartition(":")[2]))) as upstream:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_copy, args=(upstream, self.connection), daemon=True)
            back.start()
            _copy(self.connection, upstream)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while block := source.recv(1 << 16):
            target.sendall(block)
        target.shutdown(socket.SHUT_WR)


def test_https_through_a_proxy_and_away_from_it(
    webs: list[Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An https server behind a proxy with a password; then it redirects to http, which is not followed."""
    web, plain = webs
    plain.content["/plain"] = CONTENT
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    with serving(build_handler(web), context) as secure, serving(Tunnel) as proxy:
        monkeypatch.setenv("TILTMETER_MIRROR", secure.replace("127.0.0.1", "localhost"))
        monkeypatch.setenv("https_proxy", proxy.replace("//", f"//ada:{PASSWORD}@"))
        web.content = {f"/{FILE.name}": CONTENT}
        assert fetch_file(FILE).read_bytes() == CONTENT
        assert LOGIN in Tunnel.logins
        assert web.headers[0].get("Proxy-Authorization") is None
        web.redirects = {f"/{TABLE.name}": f"{plain.url}/plain"}
        with raises_mentioning(DownloadError, "redirects to http://"):
            fetch_file(TABLE)
        assert plain.asked == []
        monkeypatch.setenv("https_proxy", proxy.replace("//", "//ada:wrong-password@"))
        with raises_mentioning(DownloadError, "407") as caught:
            fetch_file(JSON)
        assert "wrong-password" not in str(caught.value)
