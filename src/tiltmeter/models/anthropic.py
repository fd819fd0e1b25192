"""`anthropic:MODEL`: chat models of Anthropic, through the Messages API."""

import os
from typing import Any

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.http_client.client import Request
from tiltmeter.models.chat_server import ServedChat, build_too_long_reply, parse_count
from tiltmeter.models.chat_variant import ChatVariant
from tiltmeter.models.scheme import Scheme
from tiltmeter.models.server_client import open_client
from tiltmeter.options import ModelOptions
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions

_ADDRESS = "https://api.anthropic.com/v1"
_VERSION = "2023-06-01"
_KEY = "ANTHROPIC_API_KEY"
_THINKING_TOKENS = 1024  # the smallest number that the API accepts, and the default
_KEY_HINT = f"check the API key in the environment variable {_KEY}"


class AnthropicMessages:
    """Requests to `/messages` and their replies; this API has no seed and no log-probabilities."""

    path = "/messages"

    def __init__(self, variant: ChatVariant) -> None:
        """Send requests for a variant of a model."""
        self.variant = variant

    @property
    def thinking_tokens(self) -> int:
        """The maximum length of the thinking in tokens; 0 if the model does not think."""
        return (self.variant.thinking_tokens or _THINKING_TOKENS) if self.variant.thinking else 0

    def build_request(self, model: str, question: ChatQuestion, sampling: SamplingOptions) -> Request:
        """Return the request that asks for the reply to a message."""
        if sampling.probabilities:
            raise ModelError(f"anthropic:{model} returns no log-probabilities; omit --protocol choice-probabilities.")
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "user", "content": question.prompt}],
            "temperature": sampling.temperature,
            "max_tokens": sampling.max_tokens,
        }
        if self.variant.system_message:
            body["system"] = self.variant.system_message
        if self.variant.thinking:
            if sampling.temperature != 1:
                raise ModelError(f"anthropic:{model} supports thinking only at temperature 1; add --temperature 1.")
            # The tokens of the thinking count towards the maximum.
            body["thinking"] = {"type": "enabled", "budget_tokens": self.thinking_tokens}
            body["max_tokens"] = self.thinking_tokens + sampling.max_tokens
        return Request(self.path, body)

    def relax_request(self, _message: str, _sampling: SamplingOptions) -> bool:
        """Return False, because the request has no optional part that could be omitted after an error."""
        return False

    def parse_reply(self, reply: Any, _sampling: SamplingOptions) -> Reply:
        """Return the server's JSON as a reply; the thinking blocks are separate from the text blocks."""
        texts, thinking = ([b[kind] for b in reply["content"] if b["type"] == kind] for kind in ("text", "thinking"))
        usage = reply.get("usage") or {}
        return Reply(
            "".join(texts),
            refused=reply.get("stop_reason") == "refusal",
            tokens_in=parse_count(usage.get("input_tokens")),
            tokens_out=parse_count(usage.get("output_tokens")),
            model=str(reply.get("model") or ""),
            cut=reply.get("stop_reason") == "max_tokens",
            thinking="".join(thinking),
        )


def _open(rest: str, options: ModelOptions) -> ServedChat:
    """Open the model `MODEL`, or `MODEL@ADDRESS` on another server with the same API."""
    served, _, address = rest.partition("@")
    if not served:
        raise UsageError("anthropic: needs the name of a model; write anthropic:MODEL.")
    key = os.environ.get(_KEY)
    if not key and not address:
        raise UsageError(f"anthropic:{served} needs an API key; set the environment variable {_KEY}.")
    client = open_client(
        address or _ADDRESS,
        options,
        key=None,
        excused=build_too_long_reply,
        secrets=(key,) if key else (),
        headers={"anthropic-version": _VERSION} | ({"x-api-key": key} if key else {}),
        hints={401: _KEY_HINT, 403: _KEY_HINT, 404: "check the name of the model"},
    )
    variant = ChatVariant.from_options(options)
    if variant.thinking_tokens is not None and variant.thinking_tokens < _THINKING_TOKENS:
        raise UsageError(
            f"anthropic:{served} accepts no --thinking-tokens below {_THINKING_TOKENS:,}; raise the number."
        )
    name = f"anthropic:{served}@{client.public_address}" if address else f"anthropic:{served}"
    return ServedChat(name=f"{name}{variant.suffix}", served=served, client=client, dialect=AnthropicMessages(variant))


SCHEME = Scheme(open=_open, is_chat=True, locate=lambda _rest: "chat server")
