"""Timeouts for incomplete requests. Uvicorn has none, so slow clients could occupy all connections."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_INCOMPLETE = (h11.IDLE, h11.SEND_BODY)


class TimedProtocol(H11Protocol):
    """HTTP/1.1 protocol with timeouts.

    The timeouts are in seconds: for the headers, for a pause within a body, and for a whole body.
    """

    headers_within = 15.0
    longest_pause = 15.0
    body_within = 120.0
    # If there are more connections than this, the connection with the oldest incomplete request is closed.
    most_connections = 500

    _timer: asyncio.TimerHandle | None = None
    _stage: object = None
    _begun = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first request."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.most_connections:
            waiting = [one for one in self.connections if isinstance(one, TimedProtocol) and one._timer is not None]
            if waiting:
                min(waiting, key=lambda one: one._begun)._give_up()

    def handle_events(self) -> None:
        """Restart the timeout for the rest of the current request, or for the next request."""
        super().handle_events()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout when the connection is closed."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        stage, now = self.conn.their_state, self.loop.time()
        if stage not in _INCOMPLETE or self.transport.is_closing():
            self._stop()
            return
        if stage is not self._stage:
            self._stage, self._begun = stage, now
        if self._timer is not None:
            self._timer.cancel()
        due = self._begun + self.headers_within
        if stage is h11.SEND_BODY:
            due = min(self._begun + self.body_within, now + self.longest_pause)
        self._timer = self.loop.call_at(due, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._stage = None

    def _give_up(self) -> None:
        is_answering = self._stage is h11.SEND_BODY and self.cycle.response_started
        self._stop()
        if not is_answering:
            self.transport.write(TIMEOUT)
        self.transport.close()
