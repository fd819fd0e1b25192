"""A local server that implements a translation service's protocol, with configurable failures."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.support.pauses import record_pauses
from tests.support.serving import serving


@dataclass(frozen=True)
class Asked:
    """A request; `body` is the parsed JSON, or the form fields as a dictionary."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Failure:
    """An error response: HTTP status, body, headers."""

    status: int
    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Service:
    """`answer` maps a request to a JSON response; `failures` are sent first, one per request."""

    url: str = ""
    answer: Callable[[Asked], Any] = lambda _asked: {}
    failures: list[Failure] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


@pytest.fixture
def service() -> Iterator[Service]:
    served = Service()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            form = self.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
            body = (
                {key: values[0] for key, values in parse_qs(content).items()} if form else json.loads(content or "null")
            )
            asked = Asked(self.path, {key.lower(): value for key, value in self.headers.items()}, body)
            served.asked.append(asked)
            failure = served.failures.pop(0) if served.failures else None
            answer = failure.body if failure else served.answer(asked)
            data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            self.send_response(failure.status if failure else 200)
            for name, value in (failure.headers if failure else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with serving(Handler) as url:
        served.url = url
        yield served


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list that records the pauses before retries, without waiting."""
    return record_pauses(monkeypatch)
