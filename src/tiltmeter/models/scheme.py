"""Schemes: how a name such as `openai:MODEL@ADDRESS` becomes a model.

A scheme is a module of this package with a `SCHEME`, or an entry point in the group `tiltmeter.models`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from tiltmeter.models.model_protocol import ChatModel, Model
from tiltmeter.options import ModelOptions
from tiltmeter.registry import OWN_PACKAGE, Component, index_components, list_plugins

# Where a model is: on this machine by name, loaded already, behind a server, or known only to a plug-in.
Source = Literal["named", "loaded", "endpoint", "chat server", "plug-in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """Opens the models whose names begin with a scheme, such as `openai:`.

    `open` takes the part of the name after the colon and the options of the run. `is_chat` says whether it opens chat
    models, which is needed before a model is opened. `locate` returns where the model is, by the same part of its
    name: this decides which options of a run apply to it, and whether its jobs need a GPU.
    """

    open: Callable[[str, ModelOptions], Model | ChatModel]
    is_chat: bool = False
    locate: Callable[[str], Source] = lambda _rest: "plug-in"


def find_scheme(name: str) -> Scheme | None:
    """The scheme of a model's name; None if the name is that of files or a hub id.

    >>> find_scheme("chat:embedded").is_chat, find_scheme("bert-base-cased")
    (True, None)
    """
    prefix, colon, _ = name.partition(":")
    return _find_scheme(prefix) if colon and not Path(name).exists() else None


@cache
def _find_scheme(prefix: str) -> Scheme | None:
    found = []
    module = f"{__package__}.{prefix}"
    if prefix.isidentifier() and find_spec(module) is not None:
        own = getattr(import_module(module), "SCHEME", None)
        found += [] if own is None else [Component(prefix, OWN_PACKAGE, lambda: own)]
    found += [plugin for plugin in list_plugins("models", Scheme) if plugin.name == prefix]
    loaders = index_components("models", found)
    scheme: Scheme | None = loaders[prefix]() if loaders else None
    return scheme
