"""`chat:MODEL@ADDRESS` and `chat:FOLDER_OR_ID`: chat models, which choose between options."""

import re

from tiltmeter.errors import UsageError
from tiltmeter.models.model_protocol import ChatModel, ModelOptions

# A revision of a hub id follows an @, too, but has no scheme.
_SERVED = re.compile(r"(?P<model>.+?)@(?P<address>[a-z]+://.*)")


def is_served(rest: str) -> bool:
    """Whether the part of a name after `chat:` names a model behind a server."""
    return _SERVED.fullmatch(rest) is not None


def open_scheme(rest: str, options: ModelOptions) -> ChatModel:
    """The model of a name such as `chat:my-model@http://localhost:8000/v1`, `chat:./folder` or `chat:embedded`."""
    if not rest:
        raise UsageError("chat: names no model; write chat:MODEL@ADDRESS, chat:FOLDER or chat:HUB_ID.")
    if served := _SERVED.fullmatch(rest):
        from tiltmeter.models.chat_server import open_served_chat

        return open_served_chat(served["model"], served["address"], options)
    from tiltmeter.models.chat_local import open_local_chat

    return open_local_chat(rest, options)
