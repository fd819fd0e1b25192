"""Checks of the model names that a user enters in a form; no model is downloaded or loaded."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from tiltmeter.errors import UsageError
from tiltmeter.models.checkpoint import ADAPTER_CONFIG, CONFIG, EMBEDDED, find_checkpoint
from tiltmeter.models.scheme import find_scheme
from tiltmeter.studio.studio_workspace import StudioWorkspace

# The protocols of model servers, with the descriptions that the page "New run" shows.
ENDPOINTS = {
    "openai": "completions with log-probabilities (for example vLLM)",
    "sglang": "log-probabilities of SGLang",
    "chat": "chat model that chooses between options",
}
CHAT = "chat:"
_HUB_ID = re.compile(r"[\w][\w.-]{0,95}(/[\w][\w.-]{0,95})?(@[\w][\w./-]{0,99})?", re.ASCII)
_SERVED = re.compile(r"[^\s@]{1,200}")
# Maximum number of characters in the name of a model.
_MAX_LENGTH = 500


def validate_model(name: str, workspace: StudioWorkspace) -> str:
    """Return the name of a model in the form that a run needs; raise a UsageError if the name is not valid.

    Valid names are `embedded`, a folder or .gguf file in the workspace, and a hub id; each of these can have the prefix
    `chat:`. Also valid are `SCHEME:MODEL@ADDRESS` for a model on a server and `SCHEME:MODEL` for a model of a provider.
    """
    if len(name) > _MAX_LENGTH or any(ord(character) < 32 for character in name):
        raise UsageError(f"The name of a model must be one line of at most {_MAX_LENGTH} characters.")
    scheme, colon, rest = name.partition(":")
    served, _, address = rest.partition("@")
    if colon and scheme == "chat" and "://" not in rest:
        return CHAT + _validate_local_model(rest, workspace)
    is_provider = colon and not address and scheme not in ENDPOINTS and find_scheme(name) is not None
    if is_provider and _SERVED.fullmatch(served):
        return name
    if colon:
        return format_endpoint_name(scheme, served, address)
    return _validate_local_model(name, workspace)


def format_endpoint_name(scheme: str, served: str, address: str) -> str:
    """Return the full name of a model on a server; raise a UsageError if a part of the name is not valid.

    >>> format_endpoint_name("openai", "my-model", "http://localhost:8000/v1")
    'openai:my-model@http://localhost:8000/v1'
    """
    if scheme not in ENDPOINTS and find_scheme(f"{scheme}:{served}") is None:
        raise UsageError(f"Unknown server protocol {scheme!r}; choose one of {', '.join(ENDPOINTS)}.")
    if not _SERVED.fullmatch(served):
        raise UsageError(f"{served!r} is not a valid model name; give the name that the server uses.")
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or any(character.isspace() for character in address):
        raise UsageError(f"{address!r} is not a server address; write for example http://localhost:8000/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            "The address must not contain a password or key, because it is stored; set the environment variable "
            "TILTMETER_API_KEY before you start the studio."
        )
    return f"{scheme}:{served}@{address.rstrip('/')}"


def list_model_files(workspace: StudioWorkspace) -> list[str]:
    """Return the names of the model folders and .gguf files in the workspace, sorted."""
    models = []
    for folder, names in workspace.walk_folders():
        if folder != workspace.folder and (CONFIG in names or ADAPTER_CONFIG in names):
            models.append(workspace.get_relative_name(folder))
        models += [workspace.get_relative_name(folder / name) for name in names if name.endswith(".gguf")]
    return sorted(models)


def find_model_path(name: str, workspace: StudioWorkspace) -> Path | None:
    """Return the path of a model folder or .gguf file in the workspace; None if the path does not exist."""
    try:
        path = workspace.resolve_path(name.removeprefix(CHAT).rstrip("/"))
    except UsageError:
        return None
    return path if path.exists() else None


def _validate_local_model(name: str, workspace: StudioWorkspace) -> str:
    if name == EMBEDDED:
        find_checkpoint(name)
        return name
    path = find_model_path(name, workspace)
    if path is not None and path.is_dir():
        if not (path / CONFIG).is_file() and not (path / ADAPTER_CONFIG).is_file():
            raise UsageError(f"The folder {name!r} has no {CONFIG}, so it is not a model in the Hugging Face format.")
        return workspace.get_relative_name(path)
    if name.endswith(".gguf"):
        if path is None:
            raise UsageError(f"The workspace has no file {name!r}; copy the .gguf file to it.")
        return workspace.get_relative_name(path)
    # A run would open this path as a model folder, so it must not be hidden or outside the workspace.
    if path is None and (workspace.folder / name).exists():
        raise UsageError(f"{name!r} is hidden or outside the workspace; copy the model into the workspace.")
    if not _HUB_ID.fullmatch(name) or ".." in name or "--" in name:
        raise UsageError(
            f"{name!r} is neither a model folder or .gguf file in the workspace nor a hub id such as bert-base-cased."
        )
    return name
