"""Timeouts for incomplete requests.

The web server uvicorn has no such timeouts, so slow clients could occupy all connections.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_INCOMPLETE = (h11.IDLE, h11.SEND_BODY)


class TimedProtocol(H11Protocol):
    """The HTTP/1.1 protocol of uvicorn with timeouts for slow clients.

    The timeouts are in seconds: for the headers of a request, for a pause within its body, and for the whole body.
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
        """Start the timeout for the first request; if there are too many connections, close one."""
        super().connection_made(transport)
        self._restart_timeout()
        if len(self.connections) > self.most_connections:
            waiting = [one for one in self.connections if isinstance(one, TimedProtocol) and one._timer is not None]
            if waiting:
                min(waiting, key=lambda one: one._begun)._close_slow_connection()

    def handle_events(self) -> None:
        """Restart the timeout for the rest of the current request, or for the next request."""
        super().handle_events()
        self._restart_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout when the connection is closed."""
        self._cancel_timer()
        super().connection_lost(exc)

    def _restart_timeout(self) -> None:
        """Start or restart the timeout of a request that is not complete; cancel the timeout of a complete request."""
        stage, now = self.conn.their_state, self.loop.time()
        if stage not in _INCOMPLETE or self.transport.is_closing():
            self._cancel_timer()
            return
        if stage is not self._stage:
            self._stage, self._begun = stage, now
        if self._timer is not None:
            self._timer.cancel()
        due = self._begun + self.headers_within
        if stage is h11.SEND_BODY:
            due = min(self._begun + self.body_within, now + self.longest_pause)
        self._timer = self.loop.call_at(due, self._close_slow_connection)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._stage = None

    def _close_slow_connection(self) -> None:
        is_answering = self._stage is h11.SEND_BODY and self.cycle.response_started
        self._cancel_timer()
        if not is_answering:
            self.transport.write(TIMEOUT)
        self.transport.close()
