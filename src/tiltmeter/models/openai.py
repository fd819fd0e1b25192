"""`openai:MODEL@ADDRESS`: `/v1/completions` with echo and log-probabilities, as vLLM serves it."""

from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.models.client import Client, Request
from tiltmeter.models.endpoint import BadReplyError, EndpointModel, open_endpoint
from tiltmeter.models.model_protocol import ModelOptions
from tiltmeter.models.text_plan import TokenEntry
from tiltmeter.questions import Ids

_ID = "token_id:"


class OpenAiDialect:
    """Completions of token ids. The server has to name tokens by their ids, which vLLM does when asked to."""

    scheme = "openai"

    def __init__(self) -> None:
        self._new_tokens = 0

    def relax_request(self) -> bool:
        """Let the server generate one token: some refuse to generate none."""
        relaxed = self._new_tokens == 0
        self._new_tokens = 1
        return relaxed

    def request(self, model: str, ids: Ids) -> Request:
        """The text echoed, with its log-probabilities."""
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

    def entries(self, reply: Any) -> list[TokenEntry]:
        """The tokens of the text, then the generated one."""
        try:
            found = reply["choices"][0].get("logprobs") or {}
            tokens, values = found.get("tokens"), found.get("token_logprobs")
            best = found.get("top_logprobs") or [None] * len(tokens or ())
        except (LookupError, TypeError, AttributeError) as error:
            raise BadReplyError("its reply is not that of /v1/completions") from error
        if not tokens or not values or len(tokens) != len(values):
            raise BadReplyError(
                "it gives no log-probabilities for the text it was sent; it ignores `echo` or `logprobs`"
            )
        return [
            TokenEntry(number, value, None if not top or value is None else value >= max(top.values()))
            for number, value, top in zip(_parse_token_ids(tokens), values, best, strict=True)
        ]

    def about(self, client: Client, model: str) -> dict[str, Any]:
        """The entry of `/v1/models`."""
        listed = client.ask(Request("/models"))
        models = (
            [entry for entry in listed.get("data", []) if isinstance(entry, dict)] if isinstance(listed, dict) else []
        )
        for entry in models:
            if entry.get("id") == model:
                return {"id": model, "max_length": entry.get("max_model_len"), "root": entry.get("root")}
        if not models:  # a server that loads models when they are asked for
            return {"id": model}
        served = ", ".join(str(entry.get("id")) for entry in models)
        raise ModelError(f"The server at {client.public_address} does not serve {model}; it serves {served}.")


def _parse_token_ids(tokens: list[Any]) -> list[int]:
    """The ids of tokens that are named by them."""
    if not all(isinstance(token, str) and token.startswith(_ID) for token in tokens):
        raise BadReplyError(
            "it names tokens by their text, not by their ids (`return_tokens_as_token_ids`), so that one cannot tell "
            "whether they are those that were sent"
        )
    return [int(token.removeprefix(_ID)) for token in tokens]


def open_scheme(rest: str, options: ModelOptions) -> EndpointModel:
    """The model of a name such as `openai:my-model@http://localhost:8000/v1`."""
    return open_endpoint(rest, OpenAiDialect(), options)
