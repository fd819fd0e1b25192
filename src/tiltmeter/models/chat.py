"""The scheme `chat:`: `chat:MODEL@ADDRESS` is a chat model on a server, `chat:FOLDER_OR_ID` one on this machine."""

import re

from tiltmeter.errors import UsageError
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.models.scheme import Scheme, Source
from tiltmeter.options import ModelOptions

# The revision of a hub id also follows an @, but a revision does not begin with a scheme such as `http://`.
_SERVED = re.compile(r"(?P<model>.+?)@(?P<address>[a-z]+://.*)")


def open_chat(rest: str, options: ModelOptions) -> ChatModel:
    """Open the chat model `chat:REST`; `rest` is for example `my-model@http://localhost:8000/v1` or `./folder`."""
    if not rest:
        raise UsageError("chat: needs the name of a model; write chat:MODEL@ADDRESS, chat:FOLDER or chat:HUB_ID.")
    if served := _SERVED.fullmatch(rest):
        from tiltmeter.models.chat_server import open_served_chat

        return open_served_chat(served["model"], served["address"], options)
    from tiltmeter.models.chat_local import open_local_chat

    return open_local_chat(rest, options)


def _classify_source(rest: str) -> Source:
    return "chat server" if _SERVED.fullmatch(rest) else "named"


SCHEME = Scheme(open=open_chat, is_chat=True, locate=_classify_source)
