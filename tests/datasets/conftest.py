"""A local HTTP server with configurable failures."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep

import pytest

from tiltmeter.datasets import download


@dataclass
class Server:
    """The content and behaviour of the server; `asked` records (path, first byte) of the requests."""

    url: str = ""
    content: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    ranges: bool = True
    delay: float = 0.0
    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0, 0.0))
    served = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
            served.asked.append((self.path, start))
            sleep(served.delay)
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

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        served.url = f"http://127.0.0.1:{httpd.server_port}"
        try:
            yield served
        finally:
            httpd.shutdown()
            thread.join()
