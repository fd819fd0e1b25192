"""The size and kind of a model, for estimates: from its files if they are here, without loading it."""

import json
from pathlib import Path

from tiltmeter.cluster.time_estimates import ModelSize
from tiltmeter.errors import TiltmeterError
from tiltmeter.models.checkpoint import ADAPTER_CONFIG, CONFIG, EMBEDDED, Checkpoint, find_checkpoint
from tiltmeter.studio.model_names import CHAT, find_model_path
from tiltmeter.studio.studio_workspace import StudioWorkspace


def find_model_size(name: str, workspace: StudioWorkspace) -> ModelSize:
    """The size and kind of a model; unknown for a server, an adapter, and a hub id that was not downloaded yet."""
    chat = name.startswith(CHAT)
    own = name.removeprefix(CHAT)
    if "://" in own:
        return ModelSize(kind="chat" if chat else "causal")
    try:
        checkpoint = _find_checkpoint(own, workspace)
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
    """The folder of a hub id in the cache of the hub's client; None if it is not there."""
    from huggingface_hub import snapshot_download

    model_id, _, revision = name.partition("@")
    try:
        return Path(snapshot_download(model_id, revision=revision or None, local_files_only=True))
    except Exception:  # not there, or not a hub id
        return None


def _guess_kind(checkpoint: Checkpoint) -> str:
    """The kind by the architecture that the config names: good enough to find models to compare the speed with."""
    if checkpoint.gguf:
        return "causal"
    config = json.loads((checkpoint.folder / CONFIG).read_text(encoding="utf-8"))
    named = " ".join(config.get("architectures") or ())
    if config.get("is_encoder_decoder"):
        return "seq2seq"
    return "masked" if "MaskedLM" in named or "PreTraining" in named else "causal"
