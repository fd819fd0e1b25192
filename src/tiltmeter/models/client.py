"""JSON requests to a model server: concurrent, rate-limited, with retries after transient failures."""

import asyncio
import json
import math
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import httpx2
import tenacity

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.redaction import redact_address

ATTEMPTS = 6
LONGEST_WAIT = 120.0
# The largest reply that is read, in bytes; those with log-probabilities of a long text have some megabytes.
LARGEST_REPLY = 1 << 28
_LONGEST_MESSAGE = 300
# A reply that has begun must come with so many bytes a second, after so many seconds.
_SLOWEST, _PATIENCE = 100, 6.0
TOO_SLOW = f"sends its reply with less than {_SLOWEST} bytes a second"
# Replies of so many seconds are handed on together: to check and store them one by one would slow down the sending.
_GATHERED = 0.01
# Nothing more is sent while so many replies wait to be stored, for each request at a time: a process that is killed
# loses them, and they may have been paid for.
_WAITING = 4
_RETRIED = {408, 409, 425, 429}
_Entry = TypeVar("_Entry")


class TransientRequestError(Exception):
    """A transient failure of a request; `after` is the wait that the server asks for, in seconds."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True, slots=True)
class Request:
    """A path below the server's address and a JSON body; without a body the request is a GET."""

    path: str
    body: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Client:
    """A client of one server.

    `key` is sent as a bearer token and appears in no message. `per_minute` limits the requests of a minute; None means
    no limit. `pauses` is the first wait before a new attempt, in seconds; it doubles each time. `excused` is called
    with the status and content of a refused request; if it returns a reply, that is taken for the server's.
    """

    address: str
    key: str | None = field(default=None, repr=False)
    concurrency: int = 16
    per_minute: int | None = None
    timeout: float = 300.0
    pauses: float = 1.0
    excused: Callable[[int, Any], Any | None] = lambda _status, _content: None
    _urls: dict[str, httpx2.URL] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{self.public_address!r} is not an http(s) address, such as http://localhost:8000/v1.")
        if self.concurrency < 1:
            raise UsageError(f"A concurrency of {self.concurrency} asks nothing; give at least 1.")
        if not 0 < self.timeout < math.inf:
            raise UsageError(f"A timeout of {self.timeout:g} seconds is none; give a number above 0.")
        if self.per_minute is not None and self.per_minute < 1:
            raise UsageError(f"{self.per_minute} requests a minute ask nothing; give at least 1.")
        self.address = self.address.rstrip("/")

    @property
    def public_address(self) -> str:
        """The address without the user name, the password and the query that it may contain."""
        return redact_address(self.address)

    def ask(self, request: Request) -> Any:
        """The reply to one request."""
        (((_, reply),),) = self.stream_replies([request])
        return reply

    def stream_replies(self, requests: Iterable[Request]) -> Iterator[list[tuple[int, Any]]]:
        """The index and reply of each request, in lists of all replies that arrived since the list before.

        Requests are sent from a separate thread, so that this also works inside a running event loop (a notebook). A
        failure is raised after all replies that arrived before it.
        """
        done: queue.SimpleQueue[tuple[int, Any] | BaseException | None] = queue.SimpleQueue()
        stopped, all_sent = threading.Event(), threading.Event()

        def work() -> None:
            try:
                asyncio.run(self._send_all(requests, done, stopped))
            except BaseException as error:  # raised in the calling thread
                done.put(_find_first_error(error))
            else:
                done.put(None)
            all_sent.set()

        thread = threading.Thread(target=work, name="tiltmeter-requests", daemon=True)
        thread.start()
        try:
            ended = False
            while not ended:
                first = done.get()
                all_sent.wait(_GATHERED)
                waiting = [first, *_drain_queue(done)]
                ended = not isinstance(waiting[-1], tuple)
                if replies := [reply for reply in waiting if isinstance(reply, tuple)]:
                    yield replies
            if isinstance(waiting[-1], BaseException):
                raise waiting[-1]
        finally:
            stopped.set()
            thread.join()

    async def _send_all(
        self,
        requests: Iterable[Request],
        done: "queue.SimpleQueue[tuple[int, Any] | BaseException | None]",
        stopped: threading.Event,
    ) -> None:
        limits = httpx2.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency)
        headers = {"User-Agent": "tiltmeter"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        pace = _RateLimiter(self.per_minute)
        numbered = iter(enumerate(requests))

        async def worker(http: httpx2.AsyncClient) -> None:
            for index, request in numbered:
                while done.qsize() > _WAITING * self.concurrency and not stopped.is_set():
                    await asyncio.sleep(_GATHERED)
                if stopped.is_set():
                    return
                done.put((index, await self._send(http, request, pace)))

        # Redirects are not followed: they would carry the key elsewhere.
        async with (
            httpx2.AsyncClient(limits=limits, headers=headers, timeout=None, follow_redirects=False) as http,
            asyncio.TaskGroup() as group,
        ):
            for _ in range(self.concurrency):
                group.create_task(worker(http))

    async def _send(self, http: httpx2.AsyncClient, request: Request, pace: "_RateLimiter") -> Any:
        try:
            return await self._send_once(http, request, pace)
        except TransientRequestError as error:
            failed: TransientRequestError | None = error

        async def attempt() -> Any:
            # The first failure counts as the first attempt; nothing is sent for it again.
            nonlocal failed
            if failed is not None:
                failure, failed = failed, None
                raise failure
            return await self._send_once(http, request, pace)

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(TransientRequestError),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=self._wait,
            reraise=True,
        )
        try:
            return await retrying(attempt)
        except TransientRequestError as error:
            raise ModelError(
                f"The server at {self.public_address} failed {ATTEMPTS} times in a row: "
                f"{self._hide_secrets(str(error))}. "
                "Answers that came before are kept; run the same command again to go on."
            ) from None

    async def _send_once(self, http: httpx2.AsyncClient, request: Request, pace: "_RateLimiter") -> Any:
        await pace.turn()
        url = self._url(request.path)
        try:
            # httpx's own timeout, which is turned off, is between two bytes: a server that drips would never end.
            async with asyncio.timeout(self.timeout):
                response = await self._receive_response(http, url, request)
        except TimeoutError as error:
            raise ModelError(
                f"The server at {self.public_address} did not finish its reply within {self.timeout:g} seconds; allow "
                "more with --timeout, or see what holds it up. Answers that came before are kept."
            ) from error
        except httpx2.DecodingError as error:
            raise ModelError(f"The server at {self.public_address} sends what cannot be decoded ({error}).") from error
        except (httpx2.TransportError, OSError) as error:
            raise TransientRequestError(str(error) or type(error).__name__) from error
        if response.status_code in _RETRIED or response.status_code >= 500:
            raise TransientRequestError(
                f"it answers {response.status_code} {_read_error_message(response)}".strip(),
                _parse_retry_after(response.headers.get("Retry-After")),
            )
        if not response.is_success:
            if (excuse := self.excused(response.status_code, _parse_content(response))) is not None:
                return excuse
            raise self._refusal(response)
        try:
            return response.json()
        except (ValueError, RecursionError, LookupError) as error:
            raise ModelError(
                f"The server at {self.public_address} does not answer with JSON; check the address."
            ) from error

    async def _receive_response(self, http: httpx2.AsyncClient, url: httpx2.URL, request: Request) -> httpx2.Response:
        """The response with its content, of a bounded size."""
        method, body = ("GET", None) if request.body is None else ("POST", dict(request.body))
        async with http.stream(method, url, json=body) as response:
            content, began = bytearray(), time.monotonic()
            async for block in response.aiter_bytes():
                content += block
                if is_too_slow(content, time.monotonic() - began):
                    raise ModelError(f"The server at {self.public_address} {TOO_SLOW}; see what holds it up.")
                if len(content) > LARGEST_REPLY:
                    raise ModelError(
                        f"The server at {self.public_address} sends more than {LARGEST_REPLY:,} bytes as a reply; "
                        "check the address."
                    )
            headers = {
                name: value
                for name, value in response.headers.items()
                if name not in ("content-encoding", "content-length")
            }
            return httpx2.Response(
                response.status_code, headers=headers, content=bytes(content), request=response.request
            )

    def _url(self, path: str) -> httpx2.URL:
        """The address with a path added; parsed once, not for each request (30 µs)."""
        if path not in self._urls:
            parts = urlsplit(self.address)
            self._urls[path] = httpx2.URL(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}{path}")))
        return self._urls[path]

    def _refusal(self, response: httpx2.Response) -> ModelError:
        message = self._hide_secrets(_read_error_message(response))
        told = f" ({message})" if message else ""
        if response.status_code in (401, 403):
            hint = "its key is taken from the environment variable TILTMETER_API_KEY, or OPENAI_API_KEY"
        elif response.status_code == 404:
            hint = "check the address (most end in /v1) and the name of the model"
        elif 300 <= response.status_code < 400:
            hint = "redirects are not followed; give the address that it leads to"
        else:
            hint = "it may not support what is asked of it"
        return ModelError(
            f"The server at {self.public_address} refuses the request with {response.status_code}{told}; {hint}."
        )

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, TransientRequestError) and error.after is not None:
            return min(error.after, LONGEST_WAIT)
        return float(tenacity.wait_random_exponential(multiplier=self.pauses, max=LONGEST_WAIT)(state))

    def _hide_secrets(self, text: str) -> str:
        """The text without the key and the password."""
        secrets = [self.key, urlsplit(self.address).password, urlsplit(self.address).query]
        for secret in secrets:
            if secret:
                text = text.replace(secret, "***")
        return text


def is_too_slow(content: bytes | bytearray, seconds: float) -> bool:
    """Whether a reply that has begun comes so slowly that it would hardly end; blanks keep a connection open.

    >>> is_too_slow(b"{", 1.0), is_too_slow(b"{", 9.0), is_too_slow(b"   ", 9.0), is_too_slow(b"x" * 5000, 9.0)
    (False, True, False, False)
    """
    return seconds > _PATIENCE and len(content) < _SLOWEST * seconds and bool(content.strip())


def _drain_queue(line: "queue.SimpleQueue[_Entry]") -> "Iterator[_Entry]":
    """What a queue holds now, without waiting."""
    with suppress(queue.Empty):
        while True:
            yield line.get_nowait()


class _RateLimiter:
    """Spreads requests evenly over a minute."""

    def __init__(self, per_minute: int | None) -> None:
        self._gap = 0.0 if per_minute is None else 60.0 / per_minute
        self._next = 0.0

    async def turn(self) -> None:
        """Wait until the next request may be sent."""
        if not self._gap:
            return
        now = time.monotonic()
        self._next = max(self._next, now) + self._gap
        await asyncio.sleep(self._next - self._gap - now)


def _find_first_error(error: BaseException) -> BaseException:
    """The first error of an exception group."""
    if isinstance(error, BaseExceptionGroup):
        return _find_first_error(error.exceptions[0])
    return error


def _parse_retry_after(header: str | None) -> float | None:
    """The seconds of a Retry-After header; None where it holds none or a date.

    >>> _parse_retry_after("7"), _parse_retry_after("soon"), _parse_retry_after(None)
    (7.0, None, None)
    """
    try:
        return max(0.0, float(header or ""))
    except ValueError:
        return None


def _parse_content(response: httpx2.Response) -> Any:
    """The JSON content of a response; an empty text where it has none."""
    try:
        return response.json()
    except (ValueError, RecursionError, LookupError, httpx2.HTTPError):
        return ""


def _read_error_message(response: httpx2.Response) -> str:
    """The error message in a server's response."""
    content = _parse_content(response)
    if isinstance(content, dict):
        error = content.get("error", content.get("message", content.get("detail", "")))
        if isinstance(error, dict):
            error = error.get("message", "")
        content = error
    text = content if isinstance(content, str) else json.dumps(content)
    return " ".join(text.split())[:_LONGEST_MESSAGE]
