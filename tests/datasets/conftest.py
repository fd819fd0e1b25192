"""A local HTTP server with configurable failures."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler

import pytest

from tests.support.serving import serving
from tiltmeter.datasets import http_download


@dataclass
class Server:
    """The content and behaviour of a server.

    `asked` records (path, first byte) of the requests, and `headers` their headers. `needs` is a required header.
    """

    url: str = ""
    content: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    headers: list[HTTPMessage] = field(default_factory=list)
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    needs: tuple[str, str] | None = None
    sends_length: bool = True


def build_handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
            server.asked.append((self.path, start))
            server.headers.append(self.headers)
            content = server.content.get(self.path)
            if server.needs and self.headers.get(server.needs[0]) != server.needs[1]:
                self.send_error(407 if server.needs[0].startswith("Proxy") else 401)
                return
            if self.path in server.redirects:
                self.send_response(302)
                self.send_header("Location", server.redirects[self.path])
                self.end_headers()
                return
            if server.statuses or content is None:
                self.send_error(server.statuses.pop(0) if server.statuses else 404)
                return
            if not server.ranges:
                start = 0
            if start and start >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            if server.sends_length:
                self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            # A cut: the connection ends before Content-Length bytes are sent.
            self.wfile.write(content[start : start + server.cuts.pop(0)] if server.cuts else content[start:])

    return Handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(http_download, "PAUSES", (0.0, 0.0, 0.0))
    served = Server()
    with serving(build_handler(served)) as url:
        served.url = url
        yield served
