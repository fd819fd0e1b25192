"""Local servers in a separate process that replace chat models, translation systems, data sources and the model hub.

Every text for the chat model or the translation system is logged.
"""

import hashlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from perf.killing import Log

COMMIT = "c0ffee" + "0" * 34
_BLOCK = 1 << 14


@contextmanager
def stand_ins(log: Log, data: Mapping[str, bytes], models: Mapping[str, Path]) -> Iterator[str]:
    """Start a server with all of them, and yield its address; `data` is by path, `models` (folders) by hub id."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        child = os.fork()
        if not child:
            try:
                for number in (1, 2):  # readers of the output need not wait for this process
                    os.dup2(os.open(os.devnull, os.O_WRONLY), number)
                server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(log, data, models), bind_and_activate=False)
                server.socket.close()
                server.socket, server.daemon_threads = listening, True
                threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
                server.serve_forever()
            finally:
                os._exit(1)
    try:
        yield address
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _end_with(parent: int) -> None:
    """End this process when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def _handler(log: Log, data: Mapping[str, bytes], models: Mapping[str, Path]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.endswith("/translate"):
                for text in body["q"]:
                    log.write("sent", text)
                self._send_json({"translatedText": [_translation(text) for text in body["q"]]})
            else:
                prompt = body["messages"][0]["content"]
                log.write("sent", prompt.replace("\n", " "))
                self._send_json(_completion(prompt))

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            for name, folder in models.items():
                if path.startswith(f"/api/models/{name}/tree/"):
                    self._send_json([_entry(file) for file in sorted(folder.iterdir())])
                    return
                if path.startswith(f"/api/models/{name}"):
                    self._send_json({"id": name, "sha": COMMIT, "siblings": []})
                    return
                if path.startswith(f"/{name}/resolve/"):
                    content = (folder / path.rpartition("/")[2]).read_bytes()
                    self._send(content, {"X-Repo-Commit": COMMIT, "ETag": f'"{_blob_id(content)}"'})
                    return
            if path in data:
                self._send(data[path])
            else:
                self.send_error(404)

        def _send_json(self, content: Any) -> None:
            self._send(json.dumps(content).encode(), {"Content-Type": "application/json"})

        def _send(self, content: bytes, headers: Mapping[str, str] | None = None) -> None:
            wanted = self.headers.get("Range", "")
            start = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
            if start and start >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - start))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                for at in range(start, len(content), _BLOCK):
                    self.wfile.write(content[at : at + _BLOCK])

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # the client was killed
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


def _translation(text: str) -> str:
    """Return an invented Slovak sentence with a masculine or feminine speaker."""
    return "Bol som doma." if hashlib.sha256(text.encode()).digest()[0] % 3 else "Bola som doma."


def _completion(prompt: str) -> dict[str, Any]:
    label = "AB"[hashlib.sha256(prompt.encode()).digest()[0] % 2]
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": label}}
    return {"model": "made", "choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 1}}


def _entry(file: Path) -> dict[str, Any]:
    content = file.read_bytes()
    return {"type": "file", "path": file.name, "size": len(content), "oid": _blob_id(content)}


def _blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
