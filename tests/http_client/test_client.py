"""The JSON client with servers that fail, never finish a reply, or send an endless one."""

import json
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

import pytest

from perf.bad_input_cases.servers import OddServer
from tests.support.messages import raises_mentioning
from tests.support.pauses import record_pauses
from tests.support.serving import serving
from tiltmeter.errors import ModelError
from tiltmeter.http_client.client import LIMITS, Client, Request


def test_a_slow_reply_is_an_error() -> None:
    limits = replace(LIMITS, window=0.1)
    with serving(OddServer) as address, raises_mentioning(ModelError, address, "100 bytes per second"):
        Client(f"{address}/slow", limits=limits).send_request(Request("/models"))


def test_the_timeout_is_for_the_whole_reply() -> None:
    with serving(OddServer) as address, raises_mentioning(ModelError, address, "within 0.7 s"):
        Client(f"{address}/slow", timeout=0.7).send_request(Request("/models"))


def test_an_endless_reply_is_an_error() -> None:
    limits = replace(LIMITS, size=3_000_000)
    with serving(OddServer) as address, raises_mentioning(ModelError, address, "3,000,000 bytes"):
        Client(f"{address}/endless", limits=limits).send_request(Request("/models"))


@pytest.mark.parametrize("name", ["deep", "gzip", "half", "no-utf8", "page", "empty"])
def test_a_reply_that_is_not_json_is_an_error(name: str) -> None:
    with serving(OddServer) as address, raises_mentioning(ModelError, f"A service at {address}/{name}"):
        Client(f"{address}/{name}", pauses=(), service="A service").send_request(Request("/models"))


class Echo(BaseHTTPRequestHandler):
    """Reply with the method, content type and body of a request; under /busy always with status 429."""

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        login = self.headers.get("Authorization")
        content = {"error": login} if self.path == "/busy" else [self.command, self.headers.get_content_type(), body]
        data = json.dumps(content).encode()
        self.send_response(429 if self.path == "/busy" else 200)
        self.send_header("Retry-After", "3600" if "long" in body else "2")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET  # noqa: N815


def test_a_request_has_json_or_form_fields_or_neither() -> None:
    with serving(Echo) as address:
        client = Client(address)
        assert client.send_request(Request("/"))[0] == "GET"
        assert client.send_request(Request("/", {"a": 1})) == ["POST", "application/json", '{"a":1}']
        assert client.send_request(Request("/", form={"a": "b c"})) == [
            "POST",
            "application/x-www-form-urlencoded",
            "a=b+c",
        ]


def test_retry_after_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = record_pauses(monkeypatch)
    with serving(Echo) as address:
        client = Client(address, key="k3y", pauses=(9.0, 9.0))
        with raises_mentioning(ModelError, "failed 3 times", "429 Bearer ***."):
            client.send_request(Request("/busy"))
        assert pauses == [2.0, 2.0]
        with raises_mentioning(ModelError, "3,600 seconds"):
            client.send_request(Request("/busy", {"wait": "long"}))
    assert len(pauses) == 2


def test_the_number_of_unstored_replies_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process loses unstored replies, so there are few of them even if storing is slow."""
    taken, ahead = 0, 0

    async def replied(*_: object) -> str:
        return "reply"

    def requests() -> Iterator[Request]:
        nonlocal ahead
        for number in range(500):
            ahead = max(ahead, number - taken)
            yield Request("/v1", {})

    monkeypatch.setattr(Client, "_send_with_retries", replied)
    for replies in Client("http://localhost:1", concurrency=2).stream_replies(requests()):
        taken += len(replies)
    assert taken == 500
    assert ahead <= 2 * (2 * 4 + 2) + 2
