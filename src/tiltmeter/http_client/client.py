"""A client for JSON requests to a server: it sends requests in parallel, limits their rate, and retries."""

import asyncio
import json
import math
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx2

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.http_client import retries
from tiltmeter.http_client.limits import ReplyLimits, ReplyMeter, TooLargeError, TooSlowError
from tiltmeter.http_client.response_stream import USER_AGENT, describe_error
from tiltmeter.http_client.retries import Retries, TransientError, is_transient, parse_retry_after
from tiltmeter.http_client.tls_context import get_tls_context
from tiltmeter.redaction import redact_address

# The size limit is high, because a reply with the log-probabilities of a long text has several megabytes.
LIMITS = ReplyLimits(size=1 << 28, speed=100, window=6.0)
_MAX_MESSAGE_LENGTH = 300
# Replies that arrive within this number of seconds are returned in one list, because storing them together is faster.
_GATHER_TIME = 0.01
# Maximum number of replies that wait for storage, per parallel request. A killed process loses these replies, which may
# cost money.
_MAX_UNSTORED = 4
_BODY_HEADERS = ("content-encoding", "content-length")
_REDIRECT_HINT = "redirects are not followed; give the final address"
_HINT = "it may not support this request"
# The keys under which servers put the error message in a JSON reply.
_ERROR_KEYS = ("error", "explanation", "message", "detail")
_Entry = TypeVar("_Entry")


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a path of the server, with a JSON body or form fields; if both are None, it is a GET request."""

    path: str
    body: Mapping[str, Any] | None = None
    form: Mapping[str, str] | None = None


@dataclass(slots=True)
class Client:
    """A client of one server.

    `key` is sent as a bearer token. The key, the login and query of the address, and all `secrets` are removed from
    error messages. `per_minute` is the maximum number of requests per minute; None means no limit. `excused` is called
    with the status and content of each response that rejects a request; if it returns a reply, this reply is used and
    no error is raised. `service` is the name of the server in messages. `hints` maps HTTP statuses to remedies, and
    `resume` is the remedy after repeated failures. `headers` are sent with every request. `transport` is a function
    that sends the requests instead of HTTP; then no address is needed.
    """

    address: str
    key: str | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    concurrency: int = 16
    per_minute: int | None = None
    timeout: float = 300.0
    limits: ReplyLimits = field(default_factory=lambda: LIMITS)
    pauses: Sequence[float] = field(default_factory=lambda: retries.PAUSES)
    excused: Callable[[int, Any], Any | None] = lambda _status, _content: None
    service: str = "The server"
    hints: Mapping[int, str] = field(default_factory=dict)
    resume: str = "Try again later."
    transport: Callable[[Request], Awaitable[httpx2.Response]] | None = None
    _urls: dict[str, httpx2.URL] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if (parts.scheme not in ("http", "https") or not parts.hostname) and (self.address or not self.transport):
            raise UsageError(f"{self.public_address!r} is not an http(s) address, such as http://localhost:8000/v1.")
        if self.concurrency < 1:
            raise UsageError(f"The concurrency (parallel requests) is {self.concurrency}; it must be at least 1.")
        if not 0 < self.timeout < math.inf:
            raise UsageError(f"The timeout is {self.timeout:g} seconds; it must be a finite number above 0.")
        if self.per_minute is not None and self.per_minute < 1:
            raise UsageError(f"The maximum number of requests per minute is {self.per_minute}; it must be at least 1.")
        self.address = self.address.rstrip("/")

    @property
    def public_address(self) -> str:
        """The address of the server without login and query, for messages and results."""
        return redact_address(self.address)

    @property
    def label(self) -> str:
        """The name of the server in messages, with its address if it has one."""
        return f"{self.service} at {self.public_address}" if self.address else self.service

    def send_request(self, request: Request) -> Any:
        """Return the reply to one request."""
        (((_, reply),),) = self.stream_replies([request])
        return reply

    def stream_replies(self, requests: Iterable[Request]) -> Iterator[list[tuple[int, Any]]]:
        """Yield lists of (index of the request, reply), as replies arrive.

        Requests are sent from a separate thread, so that this method also works while an event loop is running (in a
        notebook). If a request fails, its error is raised after all earlier replies were yielded.
        """
        done: queue.SimpleQueue[tuple[int, Any] | BaseException | None] = queue.SimpleQueue()
        stopped, all_sent = threading.Event(), threading.Event()

        def run_event_loop() -> None:
            try:
                asyncio.run(self._send_all_requests(requests, done, stopped))
            except BaseException as error:  # the error is raised again in the calling thread
                done.put(_find_first_error(error))
            else:
                done.put(None)
            all_sent.set()

        thread = threading.Thread(target=run_event_loop, name="tiltmeter-requests", daemon=True)
        thread.start()
        try:
            ended = False
            while not ended:
                first = done.get()
                all_sent.wait(_GATHER_TIME)
                received = [first, *_drain_queue(done)]
                ended = not isinstance(received[-1], tuple)
                if replies := [reply for reply in received if isinstance(reply, tuple)]:
                    yield replies
            if isinstance(received[-1], BaseException):
                raise received[-1]
        finally:
            stopped.set()
            thread.join()

    async def _send_all_requests(
        self,
        requests: Iterable[Request],
        done: "queue.SimpleQueue[tuple[int, Any] | BaseException | None]",
        stopped: threading.Event,
    ) -> None:
        limits = httpx2.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency)
        headers = {"User-Agent": USER_AGENT} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        headers |= self.headers
        limiter = _RateLimiter(self.per_minute)
        numbered = iter(enumerate(requests))

        async def send_queued_requests(http: httpx2.AsyncClient) -> None:
            for index, request in numbered:
                while done.qsize() > _MAX_UNSTORED * self.concurrency and not stopped.is_set():
                    await asyncio.sleep(_GATHER_TIME)
                if stopped.is_set():
                    return
                done.put((index, await self._send_with_retries(http, request, limiter)))

        # Redirects are not followed, because a redirect could send the API key to another server.
        async with (
            httpx2.AsyncClient(
                verify=get_tls_context(), limits=limits, headers=headers, timeout=None, follow_redirects=False
            ) as http,
            asyncio.TaskGroup() as group,
        ):
            for _ in range(self.concurrency):
                group.create_task(send_queued_requests(http))

    async def _send_with_retries(self, http: httpx2.AsyncClient, request: Request, limiter: "_RateLimiter") -> Any:
        attempts = Retries(self.pauses)
        try:
            return await attempts.call_async_with_retries(lambda: self._send_once(http, request, limiter))
        except TransientError as error:
            reason = self._hide_secrets(attempts.explain_failure(error).rstrip(". "))
            raise ModelError(f"{self.label} {reason}. {self.resume}") from None

    async def _send_once(self, http: httpx2.AsyncClient, request: Request, limiter: "_RateLimiter") -> Any:
        await limiter.wait_turn()
        try:
            # The timeout of httpx limits only the time between two bytes; this timeout limits the time for the whole
            # reply.
            async with asyncio.timeout(self.timeout):
                response = await (self.transport(request) if self.transport else self._receive_response(http, request))
        except TimeoutError as error:
            raise ModelError(
                f"{self.label} did not finish its reply within {self.timeout:g} seconds. {self.resume}"
            ) from error
        except (TooLargeError, TooSlowError) as error:
            raise ModelError(f"{self.label} {error}; check the address and the load of the server.") from error
        except httpx2.DecodingError as error:
            raise ModelError(
                f"{self.label} sends a reply that cannot be decoded ({error}); check the address."
            ) from error
        except (httpx2.TransportError, OSError) as error:
            raise TransientError(describe_error(error)) from error
        return self._parse_response(response)

    async def _receive_response(self, http: httpx2.AsyncClient, request: Request) -> httpx2.Response:
        """Send the request over HTTP, and return the response with its complete content."""
        content: dict[str, Any] = {} if request.body is None else {"json": dict(request.body)}
        if request.form is not None:
            content = {"data": dict(request.form)}
        method = "POST" if content else "GET"
        async with http.stream(method, self._build_url(request.path), **content) as response:
            meter, blocks = ReplyMeter(self.limits), []
            async for block in response.aiter_bytes():
                meter.add_block(block)
                blocks.append(block)
            headers = {name: value for name, value in response.headers.items() if name not in _BODY_HEADERS}
            return httpx2.Response(response.status_code, headers=headers, content=b"".join(blocks))

    def _parse_response(self, response: httpx2.Response) -> Any:
        """Return the JSON content of a response; raise an error if the request failed."""
        if response.is_success:
            try:
                return response.json()
            except (ValueError, RecursionError, LookupError) as error:
                raise ModelError(f"{self.label} does not answer with JSON; check the address.") from error
        status = response.status_code
        if is_transient(status):
            reason = f"the response was {status} {_find_message(response)}"
            raise TransientError(reason, parse_retry_after(response.headers.get("Retry-After")))
        if (excuse := self.excused(status, _parse_content(response))) is not None:
            return excuse
        message = self._hide_secrets(_find_message(response)).rstrip(". ")
        hint = self.hints.get(status, _REDIRECT_HINT if response.is_redirect else _HINT)
        raise ModelError(f"{self.label} refuses the request with {status} ({message}); {hint}.")

    def _build_url(self, path: str) -> httpx2.URL:
        """Return the URL of a path on the server; the URL is cached, because parsing it takes 30 µs."""
        if path not in self._urls:
            parts = urlsplit(self.address)
            self._urls[path] = httpx2.URL(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}{path}")))
        return self._urls[path]

    def _hide_secrets(self, text: str) -> str:
        parts = urlsplit(self.address)
        password = parts.password or ""
        for secret in (self.key, *self.secrets, password, unquote(password), parts.query):
            if secret:
                text = text.replace(secret, "***")
        return text


def _drain_queue(entries: "queue.SimpleQueue[_Entry]") -> "Iterator[_Entry]":
    """Yield the entries that are already in the queue, without waiting for more."""
    with suppress(queue.Empty):
        while True:
            yield entries.get_nowait()


class _RateLimiter:
    """Limits the rate of requests to `per_minute`, at equal time intervals; None means no limit."""

    def __init__(self, per_minute: int | None) -> None:
        self._gap = 0.0 if per_minute is None else 60.0 / per_minute
        self._next = 0.0

    async def wait_turn(self) -> None:
        """Wait until the next request may be sent."""
        if not self._gap:
            return
        now = time.monotonic()
        self._next = max(self._next, now) + self._gap
        await asyncio.sleep(self._next - self._gap - now)


def _find_first_error(error: BaseException) -> BaseException:
    """Return the first error inside an exception group; any other error is returned unchanged."""
    if isinstance(error, BaseExceptionGroup):
        return _find_first_error(error.exceptions[0])
    return error


def _parse_content(response: httpx2.Response) -> Any:
    """Return the JSON content of a response; an empty string if the content is not JSON."""
    try:
        return response.json()
    except (ValueError, RecursionError, LookupError):
        return ""


def _find_message(response: httpx2.Response) -> str:
    """Return the error message in a response, or the phrase of its HTTP status if there is no message."""
    content = _parse_content(response)
    if isinstance(content, dict):
        content = next((content[key] for key in _ERROR_KEYS if content.get(key)), "")
        if isinstance(content, dict):
            content = content.get("message", "")
    text = content if isinstance(content, str) else json.dumps(content)
    return " ".join(text.split())[:_MAX_MESSAGE_LENGTH] or response.reason_phrase
