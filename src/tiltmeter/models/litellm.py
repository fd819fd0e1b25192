"""`litellm:PROVIDER/MODEL`: chat models of other providers, through the optional package LiteLLM."""

import asyncio
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx2

from tiltmeter.errors import UsageError
from tiltmeter.http_client.client import Request
from tiltmeter.models.chat_server import ChatCompletions, ServedChat, build_refusal_reply
from tiltmeter.models.chat_variant import ChatVariant
from tiltmeter.models.scheme import Scheme
from tiltmeter.models.server_client import open_client
from tiltmeter.options import ModelOptions

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_MIN_SECRET_LENGTH = 8
_KEY_HINT = "set the environment variable from which LiteLLM reads the provider's API key"
_FAILED = 500  # the HTTP status for errors without a status, such as lost connections, so that they are retried


class LiteLlmTransport:
    """Sends chat requests with `litellm.completion`, and returns its results and errors as HTTP responses.

    Requests are sent from threads, because LiteLLM's asynchronous clients are bound to one event loop.
    """

    def __init__(self, complete: Callable[..., Any], options: ModelOptions, address: str) -> None:
        self._complete = partial(complete, timeout=options.timeout, max_retries=0, num_retries=0)
        if address:
            self._complete = partial(self._complete, api_base=address)
        self._threads = ThreadPoolExecutor(options.concurrency, thread_name_prefix="tiltmeter-litellm")

    async def __call__(self, request: Request) -> httpx2.Response:
        """Send a request and return its response."""
        complete = partial(self._complete, **(request.body or {}))
        try:
            completion = await asyncio.get_running_loop().run_in_executor(self._threads, complete)
        except Exception as error:  # LiteLLM and other libraries raise many classes of errors
            return _convert_to_response(error)
        return httpx2.Response(200, content=completion.model_dump_json().encode())


def _convert_to_response(error: Exception) -> httpx2.Response:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    wait = headers.get("retry-after")
    return httpx2.Response(
        int(getattr(error, "status_code", None) or _FAILED),
        headers={"Retry-After": str(wait)} if wait else {},
        json={"error": {"message": f"{type(error).__name__}: {error}"}},
    )


def _open(rest: str, options: ModelOptions) -> ServedChat:
    """Open the model `PROVIDER/MODEL`, such as `mistral/mistral-small`, or `openai/MODEL@ADDRESS`."""
    served, _, address = rest.partition("@")
    if not served:
        raise UsageError(
            "litellm: needs the name of a model; write litellm:PROVIDER/MODEL, as in the documentation of LiteLLM."
        )
    # Without this setting, the import downloads a table of prices.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm
    except ImportError as error:
        raise UsageError(
            f"litellm:{served} needs the package LiteLLM ({error}); install it with pip install 'tiltmeter[litellm]'."
        ) from error
    litellm.suppress_debug_info = True
    client = open_client(
        address,
        options,
        key=None,
        excused=build_refusal_reply,
        secrets=_list_secrets(),
        service="LiteLLM",
        hints={401: _KEY_HINT, 403: _KEY_HINT, 404: "check the provider and the name of the model"},
        transport=LiteLlmTransport(litellm.completion, options, address),
    )
    variant = ChatVariant.from_options(options)
    name = f"litellm:{served}@{client.public_address}" if address else f"litellm:{served}"
    dialect = ChatCompletions(variant, has_templates=False)
    return ServedChat(name=f"{name}{variant.suffix}", served=served, client=client, dialect=dialect)


def _list_secrets() -> tuple[str, ...]:
    """Return the values of all environment variables that may be API keys; LiteLLM may use any of these keys."""
    values = [value for name, value in os.environ.items() if _SECRET.search(name)]
    return tuple(value for value in values if len(value) >= _MIN_SECRET_LENGTH)


SCHEME = Scheme(open=_open, is_chat=True, locate=lambda _rest: "chat server")
