"""The HTTP client for a server with models; it gets the API key from the environment and limits from the options."""

import os
from typing import Any

from tiltmeter.http_client.client import Client
from tiltmeter.options import ModelOptions

_KEY_HINT = "check the API key in the environment variable TILTMETER_API_KEY or OPENAI_API_KEY"
_HINTS = {
    401: _KEY_HINT,
    403: _KEY_HINT,
    404: "check the address, which usually ends in /v1, and the name of the model",
}


def open_client(address: str, options: ModelOptions, **settings: Any) -> Client:
    """Return a client for the server at an address; `settings` override fields of the `Client`."""
    defaults = {
        "key": os.environ.get("TILTMETER_API_KEY") or os.environ.get("OPENAI_API_KEY") or None,
        "concurrency": options.concurrency,
        "per_minute": options.per_minute,
        "timeout": options.timeout,
        "hints": _HINTS,
        "resume": (
            "Earlier answers are kept; run the same command again to continue, with a larger --timeout if the server "
            "is slow."
        ),
    }
    return Client(address, **defaults | settings)
