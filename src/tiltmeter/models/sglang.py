"""`sglang:MODEL@ADDRESS`: SGLang's native `/generate` with the log-probabilities of the input.

Written from SGLang's documentation (0.5.23); not tried against a real server.
"""

from typing import Any

from tiltmeter.models.client import Client, Request
from tiltmeter.models.endpoint import BadReplyError, EndpointModel, open_endpoint
from tiltmeter.models.model_protocol import ModelOptions
from tiltmeter.models.text_plan import TokenEntry
from tiltmeter.questions import Ids


class SglangDialect:
    """Token ids in; `meta_info.input_token_logprobs` out, as [log-probability, id, text] of each token."""

    scheme = "sglang"

    def relax_request(self) -> bool:
        """There is one way only."""
        return False

    def request(self, model: str, ids: Ids) -> Request:  # noqa: ARG002 - the server serves one model
        """All input tokens from the first on, and no new one."""
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

    def entries(self, reply: Any) -> list[TokenEntry]:
        """The input's tokens; the first has no value."""
        try:
            meta = reply["meta_info"]
            tokens = meta["input_token_logprobs"]
            best = meta.get("input_top_logprobs") or [None] * len(tokens)
            return [
                TokenEntry(int(token[1]), token[0], None if not top or token[0] is None else token[0] >= top[0][0])
                for token, top in zip(tokens, best, strict=True)
            ]
        except (LookupError, TypeError, ValueError) as error:
            raise BadReplyError("its reply has no `meta_info.input_token_logprobs`") from error

    def about(self, client: Client, model: str) -> dict[str, Any]:
        """What `/get_model_info` says."""
        info = client.ask(Request("/get_model_info"))
        return {"id": info.get("model_path", model) if isinstance(info, dict) else model}


def open_scheme(rest: str, options: ModelOptions) -> EndpointModel:
    """The model of a name such as `sglang:my-model@http://localhost:30000`."""
    return open_endpoint(rest, SglangDialect(), options)
