"""The TLS settings of connections, read once, because reading the certificates takes 50 to 100 milliseconds."""

import os
import ssl
from functools import cache

import httpx2


def get_tls_context() -> ssl.SSLContext:
    """Return the TLS context with the system's certificates, or those that `SSL_CERT_FILE` or `SSL_CERT_DIR` names."""
    return _create_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _create_context(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    return httpx2.create_ssl_context()
