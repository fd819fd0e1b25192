"""A local HTTP server with configurable failures."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import pytest

from tests.support.serving import serving
from tiltmeter.datasets import http_download


@dataclass
class Server:
    """The content and behaviour of the server; `asked` records (path, first byte) of the requests."""

    url: str = ""
    content: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(http_download, "PAUSES", (0.0, 0.0, 0.0))
    served = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
            served.asked.append((self.path, start))
            content = served.content.get(self.path)
            if served.statuses or content is None:
                self.send_error(served.statuses.pop(0) if served.statuses else 404)
                return
            if not served.ranges:
                start = 0
            if start and start >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            # A cut: the connection ends before Content-Length bytes are sent.
            self.wfile.write(content[start : start + served.cuts.pop(0)] if served.cuts else content[start:])

    with serving(Handler) as url:
        served.url = url
        yield served
