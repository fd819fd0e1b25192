"""The scheme `completion:`: `completion:FOLDER_OR_ID` is a base model on this machine that continues texts.

A base model has no chat template. It gets the beginning of a text, and its continuation counts as the reply.
"""

from dataclasses import dataclass

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.chat_local import LocalChat
from tiltmeter.models.local_model import LocalModel
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.models.scheme import Scheme, Source
from tiltmeter.options import ModelOptions

_ADDRESS = "://"


@dataclass(kw_only=True)
class LocalCompletion(LocalChat):
    """A base model on this machine that continues texts (see `tiltmeter.models.model_protocol.ChatModel`)."""

    # A run sends beginnings of texts, not instructions, to a model with this attribute.
    continues_texts: bool = True

    @property
    def _template_digest(self) -> str:
        return "none"

    def _render_prompt(self, prompt: str) -> str:
        return prompt  # there is no chat template

    def _encode_prompt(self, prompt: str) -> tuple[int, ...]:
        start = self.model.text.start
        ids = self._encode_text(prompt)
        return ids if start is None or ids[:1] == (start,) else (start, *ids)


def open_completion(rest: str, options: ModelOptions) -> ChatModel:
    """Open the base model `completion:REST`; `rest` is a folder, a hub id or `embedded`."""
    if not rest:
        raise UsageError("completion: needs the name of a model; write completion:FOLDER or completion:HUB_ID.")
    if _ADDRESS in rest:
        raise UsageError("completion: supports models on this machine; for a model on a server use chat:MODEL@ADDRESS.")
    if options.system_prompt or options.thinking:
        option = "--system-prompt" if options.system_prompt else "--thinking"
        raise UsageError(f"completion:{rest} gets no messages, so it does not support {option}; omit it.")
    if options.chat_template:
        raise UsageError(f"completion:{rest} continues texts without a chat template; omit --chat-template.")
    from tiltmeter.models.model_opener import open_given_model

    model = open_given_model(rest, options)
    if not isinstance(model, LocalModel) or model.kind != "causal":
        raise ModelError(f"{rest} is not a causal model on this machine, so it cannot continue texts.")
    if "next-sentence" in model.kinds:
        raise ModelError(f"{model.name} has a next-sentence head, which writes no texts; use its base model instead.")
    completion = LocalCompletion(name=f"completion:{model.name}", model=model)
    _ = completion.end_tokens
    return completion


def _classify_source(_rest: str) -> Source:
    return "named"


SCHEME = Scheme(open=open_completion, is_chat=True, locate=_classify_source)
