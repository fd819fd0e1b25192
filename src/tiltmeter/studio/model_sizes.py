"""Functions that find the size and kind of a model in its local files, for estimates of the time of a run."""

import json
from pathlib import Path

from tiltmeter.errors import TiltmeterError
from tiltmeter.models.checkpoint import ADAPTER_CONFIG, CONFIG, EMBEDDED, Checkpoint, find_checkpoint
from tiltmeter.models.model_opener import is_chat_model
from tiltmeter.models.option_scope import find_source
from tiltmeter.runs.time_estimates import ModelSize
from tiltmeter.studio.model_names import CHAT, find_model_path
from tiltmeter.studio.studio_workspace import StudioWorkspace


def find_model_size(name: str, workspace: StudioWorkspace) -> ModelSize:
    """Return the size and kind of a model.

    The size is unknown for models on servers, for adapters, and for hub ids that are not downloaded.
    """
    chat = is_chat_model(name)
    if find_source(name) != "named":
        return ModelSize(kind="chat" if chat else "causal")
    try:
        checkpoint = _find_checkpoint(name.removeprefix(CHAT), workspace)
        if checkpoint is None:
            return ModelSize()
        size = sum(file.stat().st_size for file in checkpoint.weight_files)
        return ModelSize(size, "chat" if chat else _guess_kind(checkpoint))
    except (TiltmeterError, OSError, ValueError):
        return ModelSize()


def _find_checkpoint(name: str, workspace: StudioWorkspace) -> Checkpoint | None:
    if name == EMBEDDED:
        return find_checkpoint(name)
    path = find_model_path(name, workspace) or _find_downloaded(name)
    if path is None or (path / ADAPTER_CONFIG).is_file():
        return None
    return Checkpoint(name, path.parent, gguf=path.name) if path.is_file() else Checkpoint(name, path)


def _find_downloaded(name: str) -> Path | None:
    """Return the folder of a model from the hub in the local cache; None if the model is not downloaded."""
    from huggingface_hub import snapshot_download

    model_id, _, revision = name.partition("@")
    try:
        return Path(snapshot_download(model_id, revision=revision or None, local_files_only=True))
    except Exception:
        # The model is not downloaded, or its name is not a hub id.
        return None


def _guess_kind(checkpoint: Checkpoint) -> str:
    """Return the kind of a model, guessed from the architecture in its config; this is good enough for estimates."""
    if checkpoint.gguf:
        return "causal"
    config = json.loads((checkpoint.folder / CONFIG).read_text(encoding="utf-8"))
    named = " ".join(config.get("architectures") or ())
    if config.get("is_encoder_decoder"):
        return "seq2seq"
    return "masked" if "MaskedLM" in named or "PreTraining" in named else "causal"
