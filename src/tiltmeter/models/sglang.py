"""`sglang:MODEL@ADDRESS`: models on SGLang's own API `/generate`, with the log-probabilities of the input.

The module follows the documentation of SGLang 0.5.23. It was not tested with a real server.
"""

from typing import Any

from tiltmeter.http_client.client import Client, Request
from tiltmeter.models.endpoint import BadReplyError, EndpointModel, open_endpoint
from tiltmeter.models.scheme import Scheme
from tiltmeter.models.text_plan import TokenEntry
from tiltmeter.options import ModelOptions
from tiltmeter.questions import Ids


class SglangDialect:
    """Requests to `/generate` with token ids; replies contain [log-probability, id, text] for each input token."""

    scheme = "sglang"

    def relax_request(self) -> bool:
        """Return False, because there is no other variant of the request to try after an error."""
        return False

    def build_request(self, model: str, ids: Ids) -> Request:  # noqa: ARG002 - the server serves one model
        """Return a request for the log-probabilities of all input tokens; no new token is generated."""
        return Request(
            "/generate",
            {
                "input_ids": list(ids),
                "sampling_params": {"max_new_tokens": 0, "temperature": 0},
                "return_logprob": True,
                "logprob_start_len": 0,
                "top_logprobs_num": 1,
            },
        )

    def parse_token_entries(self, reply: Any) -> list[TokenEntry]:
        """Return the input tokens in a reply with their log-probabilities; the first token has no log-probability."""
        try:
            meta = reply["meta_info"]
            tokens = meta["input_token_logprobs"]
            best = meta.get("input_top_logprobs") or [None] * len(tokens)
            return [
                TokenEntry(int(token[1]), token[0], None if not top or token[0] is None else token[0] >= top[0][0])
                for token, top in zip(tokens, best, strict=True)
            ]
        except (LookupError, TypeError, ValueError) as error:
            raise BadReplyError("the server's reply has no `meta_info.input_token_logprobs`") from error

    def get_model_information(self, client: Client, model: str) -> dict[str, Any]:
        """Return the path of the model on the server, from the reply to `/get_model_info`."""
        info = client.send_request(Request("/get_model_info"))
        return {"id": info.get("model_path", model) if isinstance(info, dict) else model}


def _open(rest: str, options: ModelOptions) -> EndpointModel:
    return open_endpoint(rest, SglangDialect(), options)


SCHEME = Scheme(open=_open, locate=lambda _rest: "endpoint")
