"""Names of models from a form, checked cheaply: nothing is downloaded or loaded."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from tiltmeter.errors import UsageError
from tiltmeter.models.checkpoint import ADAPTER_CONFIG, CONFIG, EMBEDDED, find_checkpoint
from tiltmeter.studio.studio_workspace import StudioWorkspace

# How a server is asked: for the log-probabilities of texts, or as a chat model.
ENDPOINTS = {
    "openai": "completions with log-probabilities, as vLLM serves them",
    "sglang": "SGLang's own log-probabilities",
    "tgi": "Text Generation Inference",
    "chat": "chat: the model chooses between options",
}
CHAT = "chat:"
_HUB_ID = re.compile(r"[\w][\w.-]{0,95}(/[\w][\w.-]{0,95})?(@[\w][\w./-]{0,99})?", re.ASCII)
_SERVED = re.compile(r"[^\s@]{1,200}")
_LONGEST = 500


def validate_model(name: str, workspace: StudioWorkspace) -> str:
    """The name of a model as a run takes it; a UsageError if it cannot be one.

    It is `embedded`, a folder or .gguf file in the workspace, a hub id, `SCHEME:MODEL@ADDRESS`, or `chat:` before one
    of the first three.
    """
    if len(name) > _LONGEST or any(ord(character) < 32 for character in name):
        raise UsageError("The name of a model is one line of at most 500 characters.")
    scheme, colon, rest = name.partition(":")
    if colon and (scheme != "chat" or "://" in rest):
        served, _, address = rest.partition("@")
        return format_endpoint_name(scheme, served, address)
    if colon:
        return CHAT + _validate_local_model(rest, workspace)
    return _validate_local_model(name, workspace)


def format_endpoint_name(scheme: str, served: str, address: str) -> str:
    """The name of a model behind a server.

    >>> format_endpoint_name("openai", "my-model", "http://localhost:8000/v1")
    'openai:my-model@http://localhost:8000/v1'
    """
    if scheme not in ENDPOINTS:
        raise UsageError(f"{scheme!r} is no protocol of a server; choose {', '.join(ENDPOINTS)}.")
    if not _SERVED.fullmatch(served):
        raise UsageError(f"{served!r} cannot name a model of a server; give the name that the server uses.")
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or any(character.isspace() for character in address):
        raise UsageError(f"{address!r} is no address of a server; write it as http://localhost:8000/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            "A password or key does not go into the address, which is stored; start the studio with the environment "
            "variable TILTMETER_API_KEY."
        )
    return f"{scheme}:{served}@{address.rstrip('/')}"


def list_model_files(workspace: StudioWorkspace) -> list[str]:
    """The model folders and .gguf files in the workspace, by name."""
    found = []
    for folder, names in workspace.walk():
        if folder != workspace.folder and (CONFIG in names or ADAPTER_CONFIG in names):
            found.append(workspace.name_of(folder))
        found += [workspace.name_of(folder / name) for name in names if name.endswith(".gguf")]
    return sorted(found)


def find_model_path(name: str, workspace: StudioWorkspace) -> Path | None:
    """The folder or .gguf file of a model in the workspace; None if it is not there."""
    try:
        path = workspace.path(name.removeprefix(CHAT).rstrip("/"))
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
            raise UsageError(f"The folder {name!r} holds no {CONFIG}, so it is not a model in the Hugging Face layout.")
        return workspace.name_of(path)
    if name.endswith(".gguf"):
        if path is None:
            raise UsageError(f"There is no file {name!r} in the workspace; put the .gguf file there.")
        return workspace.name_of(path)
    if path is None and (workspace.folder / name).exists():
        # A run would take it for a folder.
        raise UsageError(f"{name!r} leads out of the workspace, or is hidden in it; put the model there itself.")
    if not _HUB_ID.fullmatch(name) or ".." in name or "--" in name:
        raise UsageError(
            f"{name!r} is neither a model folder or .gguf file in the workspace, nor a hub id such as bert-base-cased."
        )
    return name
