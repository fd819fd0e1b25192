"""A local web server for tests."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """A server that accepts many connections at once; with the default of 5, others are tried again after a second."""

    request_queue_size = 128


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve requests with a handler, by https if a context is given, and yield the address."""

    class Quiet(handler):  # type: ignore[misc, valid-type]
        # Otherwise the body would wait 40 ms for the acknowledgement of the headers.
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    with Server(("127.0.0.1", 0), Quiet) as httpd:
        if context is not None:
            httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
        httpd.daemon_threads = True
        httpd.block_on_close = False  # clients of services keep their connections open
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http{'s' * (context is not None)}://127.0.0.1:{httpd.server_port}"
        finally:
            httpd.shutdown()
            thread.join()
