"""Servers with invalid responses."""

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from perf.bad_input_cases.scene import Case, Scene

_JSON = "application/json"
# Status, headers and body by the first part of the path.
ANSWERS: dict[str, tuple[int, dict[str, str], bytes]] = {
    **{
        f"status-{code}": (code, {}, b'{"error": "no"}')
        for code in (201, 204, 301, 400, 401, 403, 404, 418, 429, 500, 503)
    },
    "empty": (200, {}, b""),
    "page": (200, {"Content-Type": "text/html"}, b"<html>Log in</html>"),
    "null": (200, {}, b"null"),
    "list": (200, {}, b"[]"),
    "number": (200, {}, b"7"),
    "text": (200, {}, b'"\\ud800"'),
    "deep": (200, {}, b"[" * 100_000),
    "half": (200, {}, b'{"choices": ['),
    "no-utf8": (200, {}, b'{"a": "\xff\xfe"}'),
    "no-choices": (200, {}, b'{"choices": []}'),
    "null-choices": (200, {}, b'{"choices": null}'),
    "null-choice": (200, {}, b'{"choices": [null]}'),
    "no-logprobs": (200, {}, b'{"choices": [{"text": "x", "logprobs": null}]}'),
    "odd-logprobs": (200, {}, b'{"choices": [{"text": "x", "logprobs": {"tokens": 7, "token_logprobs": "x"}}]}'),
    "short-logprobs": (200, {}, b'{"choices": [{"text": "", "logprobs": {"tokens": [], "token_logprobs": []}}]}'),
    "nan-logprobs": (200, {}, b'{"choices": [{"text": "x", "logprobs": {"tokens": ["x"], "token_logprobs": [NaN]}}]}'),
    "no-message": (200, {}, b'{"choices": [{"message": null}]}'),
    "odd-message": (200, {}, b'{"choices": [{"message": {"content": 7}}]}'),
    "null-message": (200, {}, b'{"choices": [{"message": {"content": null}}]}'),
    "null-translation": (200, {}, b'{"translatedText": null}'),
    "odd-translation": (200, {}, b'{"translatedText": [1, 2]}'),
    "wrong-length": (200, {"Content-Length": "1000000"}, b'{"choices": []}'),
    "gzip": (200, {"Content-Encoding": "gzip"}, b"this is no gzip"),
    "charset": (200, {"Content-Type": "application/json; charset=nonsense"}, b"{}"),
    "later": (429, {"Retry-After": "soon"}, b"{}"),
    "error-list": (400, {}, b'{"error": [1, {"a": 2}]}'),
    "error-deep": (400, {}, b"[" * 100_000),
}


class OddServer(BaseHTTPRequestHandler):
    """A server that answers requests under /NAME with the response of that name, or with a byte every half second."""

    def do_GET(self) -> None:
        name = self.path.strip("/").partition("/")[0]
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        if name in ("slow", "endless"):
            self._drip(name)
            return
        status, headers, body = ANSWERS[name]
        self.send_response(status)
        for key, value in {"Content-Type": _JSON, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    do_POST = do_GET  # noqa: N815

    def _drip(self, name: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", _JSON)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x" if name == "slow" else b" " * 1_000_000)
                self.wfile.flush()
                if name == "slow":
                    time.sleep(0.5)
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def cases(scene: Scene, address: str) -> Iterator[Case]:
    """Yield each invalid response for a language model, a chat model, a translation system and a mirror."""
    for name in (*ANSWERS, "slow", "endless"):
        at = f"{address}/{name}"
        timeout = ["--timeout", "4"]
        served = scene.measuring("--tokenizer", scene.model, *timeout, model=f"openai:m@{at}/v1")
        yield Case(f"openai: {name}", served, scores="out")
        chat = scene.measuring(*timeout, model=f"chat:m@{at}/v1")
        yield Case(f"chat: {name}", chat, judge=_no_answers if name == "null-message" else None, scores="out")
        words = ["run", "--translator", f"libretranslate:{at}", "--on", "starter-gest-mt:sk", "--limit", "2"]
        yield Case(f"libretranslate: {name}", words)
        mirror = {"TILTMETER_MIRROR": at, "TILTMETER_CACHE": "own"}
        yield Case(f"mirror: {name}", ["data", "get", "stereoset:de"], environment=mirror)


def _no_answers(_folder: Path, _output: str, errors: str) -> str:
    """Return the outcome of replies without a text, which are reported as answers without a choice."""
    return "reported" if "chose no option in any of" in errors else "silent"
