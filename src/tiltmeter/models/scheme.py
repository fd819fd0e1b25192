"""Schemes: ways to open models whose names have a prefix, such as `openai:MODEL@ADDRESS`.

A scheme is an object `SCHEME` in a module of this package. A plug-in adds a scheme with an entry point in the group
`tiltmeter.models`.
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

# The possible places of a model: in files or on the hub ("named"), already loaded, on a server, or in a plug-in.
Source = Literal["named", "loaded", "endpoint", "chat server", "plug-in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A way to open models whose names begin with a prefix such as `openai:`.

    `open` takes the part of the name after the colon and the options of the run. `is_chat`: the scheme opens chat
    models. `locate` takes the part of the name after the colon and returns the place of the model. The place decides
    which command-line options apply to the model, and whether a cluster job for the model needs a GPU.
    """

    open: Callable[[str, ModelOptions], Model | ChatModel]
    is_chat: bool = False
    locate: Callable[[str], Source] = lambda _rest: "plug-in"


def find_scheme(name: str) -> Scheme | None:
    """Return the scheme at the beginning of a model's name; None for a file, folder or hub id.

    >>> find_scheme("chat:embedded").is_chat, find_scheme("bert-base-cased")
    (True, None)
    """
    prefix, colon, _ = name.partition(":")
    return _find_scheme(prefix) if colon and not Path(name).exists() else None


@cache
def _find_scheme(prefix: str) -> Scheme | None:
    components = []
    module = f"{__package__}.{prefix}"
    if prefix.isidentifier() and find_spec(module) is not None:
        own = getattr(import_module(module), "SCHEME", None)
        components += [] if own is None else [Component(prefix, OWN_PACKAGE, lambda: own)]
    components += [plugin for plugin in list_plugins("models", Scheme) if plugin.name == prefix]
    loaders = index_components("models", components)
    scheme: Scheme | None = loaders[prefix]() if loaders else None
    return scheme
