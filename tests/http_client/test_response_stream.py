from http.server import BaseHTTPRequestHandler

import httpx2
import pytest

from perf.bad_input_cases.servers import OddServer
from tests.support.messages import raises_mentioning
from tests.support.serving import serving
from tiltmeter.http_client.response_stream import (
    MAX_REDIRECTS,
    RefusalError,
    StatusError,
    open_stream,
    resolve_redirect,
)
from tiltmeter.http_client.retries import TransientError


@pytest.mark.parametrize(
    ("before", "after", "followed"),
    [
        ("https", "http", False),
        ("https", "ftp", False),
        ("http", "ftp", False),
        ("https", "https", True),
        ("http", "https", True),
        ("http", "http", True),
    ],
)
def test_redirects_keep_encryption(before: str, after: str, followed: bool) -> None:
    def follow() -> httpx2.URL:
        return resolve_redirect(httpx2.URL(f"{before}://host/a"), f"{after}://host/b")

    if followed:
        assert str(follow()) == f"{after}://host/b"
    else:
        with raises_mentioning(RefusalError, f"{after}://"):
            follow()


def _status(address: str) -> int:
    with open_stream(address, {}, 30.0) as response:
        return response.status_code


@pytest.mark.parametrize("status", [403, 404, 418])
def test_permanent_errors(status: int) -> None:
    with serving(OddServer) as address, raises_mentioning(StatusError, str(status)) as error:
        _status(f"{address}/status-{status}")
    assert error.value.status == status


@pytest.mark.parametrize("status", [429, 500])
def test_transient_errors(status: int) -> None:
    with serving(OddServer) as address, raises_mentioning(TransientError, str(status)):
        _status(f"{address}/status-{status}")


def test_the_number_of_redirects_is_limited() -> None:
    class Circle(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", self.path)
            self.end_headers()

    with serving(Circle) as address, raises_mentioning(RefusalError, f"{MAX_REDIRECTS} times"):
        _status(address)


@pytest.mark.parametrize("proxy", ["nonsense", "ftp://localhost:1"])
def test_an_invalid_proxy(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", proxy)
    with pytest.raises((RefusalError, TransientError)):
        _status("http://127.0.0.1:1/")


def test_an_invalid_address() -> None:
    with pytest.raises(RefusalError):
        _status("http://host:port/")
