"""`openai:MODEL@ADDRESS`: models on a server with `/v1/completions` that supports echo and log-probabilities (vLLM)."""

from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.http_client.client import Client, Request
from tiltmeter.models.endpoint import BadReplyError, EndpointModel, open_endpoint
from tiltmeter.models.scheme import Scheme
from tiltmeter.models.text_plan import TokenEntry
from tiltmeter.options import ModelOptions
from tiltmeter.questions import Ids

_ID = "token_id:"


class OpenAiDialect:
    """Requests to `/completions` with token ids; the server must return tokens as ids, which is an option of vLLM."""

    scheme = "openai"

    def __init__(self) -> None:
        self._new_tokens = 0

    def relax_request(self) -> bool:
        """Let later requests generate one token, because some servers reject zero; return False if called again."""
        relaxed = self._new_tokens == 0
        self._new_tokens = 1
        return relaxed

    def build_request(self, model: str, ids: Ids) -> Request:
        """Return a request for the log-probabilities of a text (`echo`), without new tokens if the server allows it."""
        return Request(
            "/completions",
            {
                "model": model,
                "prompt": list(ids),
                "max_tokens": self._new_tokens,
                "temperature": 0,
                "echo": True,
                "logprobs": 1,
                "return_tokens_as_token_ids": True,
            },
        )

    def parse_token_entries(self, reply: Any) -> list[TokenEntry]:
        """Return the tokens in a reply with their log-probabilities; if the server generated a token, it comes last."""
        try:
            logprobs = reply["choices"][0].get("logprobs") or {}
            tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
            best = logprobs.get("top_logprobs") or [None] * len(tokens or ())
        except (LookupError, TypeError, AttributeError) as error:
            raise BadReplyError("the server does not reply in the format of /v1/completions") from error
        if not tokens or not values or len(tokens) != len(values):
            raise BadReplyError(
                "the server returns no log-probabilities for the request's text; it may ignore `echo` or `logprobs`"
            )
        return [
            TokenEntry(number, value, None if not top or value is None else value >= max(top.values()))
            for number, value, top in zip(_parse_token_ids(tokens), values, best, strict=True)
        ]

    def get_model_information(self, client: Client, model: str) -> dict[str, Any]:
        """Return the model's id, maximum length and root from the reply to `/v1/models`."""
        listed = client.send_request(Request("/models"))
        models = (
            [entry for entry in listed.get("data", []) if isinstance(entry, dict)] if isinstance(listed, dict) else []
        )
        for entry in models:
            if entry.get("id") == model:
                return {"id": model, "max_length": entry.get("max_model_len"), "root": entry.get("root")}
        if not models:  # some servers load models on demand and list none
            return {"id": model}
        served = ", ".join(str(entry.get("id")) for entry in models)
        raise ModelError(
            f"The server at {client.public_address} does not serve {model}; use one of its models: {served}."
        )


def _parse_token_ids(tokens: list[Any]) -> list[int]:
    if not all(isinstance(token, str) and token.startswith(_ID) for token in tokens):
        raise BadReplyError(
            "the server returns tokens as texts, not as ids (`return_tokens_as_token_ids`), so they cannot be compared "
            "with the request"
        )
    return [int(token.removeprefix(_ID)) for token in tokens]


def _open(rest: str, options: ModelOptions) -> EndpointModel:
    return open_endpoint(rest, OpenAiDialect(), options)


SCHEME = Scheme(open=_open, locate=lambda _rest: "endpoint")
