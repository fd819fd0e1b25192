"""A local web server within a context."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve requests with this handler, by https if there is a context; yields the address."""

    class Quiet(handler):  # type: ignore[misc, valid-type]
        # Headers and body are two packets, of which the second would wait 40 ms for the first to be acknowledged.
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as httpd:
        if context is not None:
            httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
        httpd.daemon_threads = True
        httpd.block_on_close = False  # the services' packages keep their connections open
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http{'s' * (context is not None)}://127.0.0.1:{httpd.server_port}"
        finally:
            httpd.shutdown()
            thread.join()
