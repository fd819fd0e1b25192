"""Connections with incomplete requests are closed, and other requests are answered meanwhile."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import uvicorn

from tests.studio.client import studio_on
from tiltmeter.studio.app import make_app
from tiltmeter.studio.request_timeouts import TIMEOUT, TimedProtocol
from tiltmeter.studio.server import open_socket
from tiltmeter.studio.studio_config import build_local_config

SOON = 0.05
HEAD = b"POST /review/who HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Length: 1000\r\n"
WHOLE = b"GET /static/report.css HTTP/1.1\r\nHost: %s\r\n\r\n"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """Run a studio with a socket."""
    listening = open_socket("127.0.0.1", 0)
    listening.listen(100)
    port = listening.getsockname()[1]
    app = make_app(studio_on(tmp_path, build_local_config(tmp_path, port)))
    server = uvicorn.Server(uvicorn.Config(app, http=TimedProtocol, log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield "127.0.0.1", port
    server.should_exit = True
    thread.join()


def connect(address: tuple[str, int], content: bytes) -> socket.socket:
    sent = socket.create_connection(address, timeout=30)
    host = f"{address[0]}:{address[1]}".encode()
    sent.sendall(content.replace(b"%s", host))
    return sent


def answer(connection: socket.socket) -> bytes:
    """Return everything that the server sends until it closes the connection."""
    found = b""
    with suppress(ConnectionResetError):
        while more := connection.recv(65536):
            found += more
    connection.close()
    return found


@pytest.mark.parametrize(
    ("limit", "content"),
    [
        ("headers_within", b""),
        ("headers_within", b"GET / HT"),
        ("headers_within", HEAD),
        ("longest_pause", HEAD + b"\r\n"),
        ("longest_pause", HEAD + b"\r\nname=A"),
        ("body_within", HEAD + b"\r\nname=A"),
        ("longest_pause", HEAD.replace(b"Content-Length: 1000", b"Transfer-Encoding: chunked") + b"\r\n3\r\nab"),
    ],
)
def test_incomplete_requests_time_out(
    limit: str, content: bytes, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimedProtocol, limit, SOON)
    found = answer(connect(address, content))
    # A request without a session may also be refused before its body is there.
    assert found.startswith((b"HTTP/1.1 408", b"HTTP/1.1 401", b"HTTP/1.1 403"))


def test_the_second_request_of_a_connection_also_times_out(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect(address, WHOLE)
    assert connection.recv(12) == b"HTTP/1.1 200"
    monkeypatch.setattr(TimedProtocol, "headers_within", SOON)
    connection.sendall(b"GET / HTTP/1.1\r\n")
    assert answer(connection).rpartition(b"HTTP/1.1 ")[2].startswith(b"408")


def test_other_requests_are_answered_despite_many_incomplete_ones(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimedProtocol, "most_connections", 20)
    waiting = [connect(address, b"GET / HTTP/1.1\r\n") for _ in range(40)]
    other = connect(address, WHOLE)
    assert other.recv(12) == b"HTTP/1.1 200"
    # Those that have been waited for longest are closed; the others stay.
    assert all(answer(connection) in (b"", TIMEOUT) for connection in waiting[:20])
    for connection in [other, *waiting[20:]]:
        connection.close()


def test_a_complete_request_does_not_time_out(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TimedProtocol, "longest_pause", 0.0)
    monkeypatch.setattr(TimedProtocol, "body_within", 0.0)
    connection = connect(address, WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert answer(connection).startswith(b"HTTP/1.1 200")
