"""`tgi:MODEL@ADDRESS`: the prefill details of Text Generation Inference's `/generate`.

Written from its documentation; not tried against a real server. TGI takes text alone, so the tokens that come back
have to be the ones that the tokenizer made of it; the check of every reply sees to that.
"""

from typing import Any

from tiltmeter.models.client import Client, Request
from tiltmeter.models.endpoint import BadReplyError, EndpointModel, open_endpoint
from tiltmeter.models.model_protocol import ModelOptions
from tiltmeter.models.text_plan import TokenEntry
from tiltmeter.questions import Ids


class TgiDialect:
    """Text in; `details.prefill` out, with id and log-probability of each token."""

    scheme = "tgi"

    def __init__(self) -> None:
        self.tokenizer: Any = None

    def relax_request(self) -> bool:
        """There is one way only."""
        return False

    def request(self, model: str, ids: Ids) -> Request:  # noqa: ARG002 - the server serves one model
        """The text of the tokens; a first token that the server adds by itself is left out."""
        start = self.tokenizer.bos_token_id
        own = ids[1:] if ids and ids[0] == start and self.tokenizer("").input_ids[:1] == [start] else ids
        text = self.tokenizer.decode(list(own), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return Request(
            "/generate",
            {"inputs": text, "parameters": {"details": True, "decoder_input_details": True, "max_new_tokens": 1}},
        )

    def entries(self, reply: Any) -> list[TokenEntry]:
        """The prefill's tokens; whether one is the most probable is not told."""
        try:
            found = reply[0] if isinstance(reply, list) else reply
            return [TokenEntry(int(token["id"]), token["logprob"]) for token in found["details"]["prefill"]]
        except (LookupError, TypeError, ValueError) as error:
            raise BadReplyError("its reply has no `details.prefill`") from error

    def about(self, client: Client, model: str) -> dict[str, Any]:
        """What `/info` says."""
        info = client.ask(Request("/info"))
        info = info if isinstance(info, dict) else {}
        return {"id": info.get("model_id", model), "max_length": info.get("max_input_tokens")}


def open_scheme(rest: str, options: ModelOptions) -> EndpointModel:
    """The model of a name such as `tgi:my-model@http://localhost:8080`."""
    dialect = TgiDialect()
    opened = open_endpoint(rest, dialect, options)
    dialect.tokenizer = opened.tokenizer
    return opened
