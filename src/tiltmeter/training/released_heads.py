"""Conversion of the `.pth` files of the code released by Öztürk et al. (2023): next-sentence heads with their cores.

A file contains the state of a `DataParallel` module with a core (`core_model`: the model without its output layer) and
linear layers (`nsp_head`). If the core is an encoder-decoder, the linear layers are not used. Only tensors are read;
code in the file is not run.
"""

import re
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.checkpoint_model import CheckpointModel, open_model
from tiltmeter.models.next_sentence_model import build_head_module, load_core
from tiltmeter.models.pickled_weights import reject_oversized_pickles
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.training.head_design import design_head
from tiltmeter.training.head_files import save_head
from tiltmeter.training.head_training import format_base_name
from tiltmeter.training.training_folder import TrainingFolder

_PAD = "<PAD>"
# Names of causal masks, which older versions of transformers stored as tensors.
_MASKS = re.compile(r"\.attn\.(bias|masked_bias)$")
# Errors that a damaged archive raises. They are ignored here, because torch will raise a more specific error.
_UNREADABLE = (OSError, EOFError, NotImplementedError, RuntimeError)
# The maximum input length in tokens that the released code used in training.
_MAX_LENGTH = 256


@silence_transformers()
def convert_released(
    path: Path, base_name: str, out: Path, *, tokenizer: str | None = None, force: bool = False
) -> Path:
    """Convert a released file to a head of the base model `base_name`, save it in `out`, and return the folder.

    `tokenizer` is a tokenizer to use instead of the base model's own.
    """
    state = _read_tensors(path)
    base = open_model(base_name, device="cpu", dtype="float32", tokenizer=tokenizer)
    if base.kind == "masked":
        raise UsageError(f"{base_name} is a masked model; --base must be a model like GPT-2, T5 or mT5.")
    folder = TrainingFolder(out)
    folder.reject_unusable_folder(base_name, force=force)
    head = design_head(base, "published", name=format_base_name(out, base_name), languages=(), max_length=_MAX_LENGTH)
    core: Any = load_core(base, head)
    _fit_vocabulary(core, base, state)
    module = build_head_module(core, base.tokenizer, head)
    named = {
        re.sub(r"^core_model\.", "core.", re.sub(r"^nsp_head\.", "head.", name)): tensor
        for name, tensor in state.items()
        if not _MASKS.search(name) and (head.reading == "mean" or not name.startswith("nsp_head."))
    }
    _load_tensors(module, named, path, base_name)
    with folder.lock():
        folder.create_folder({"converted_from": path.name, "base": base.weights}, force=force)
        save_head(module, base, head, out, {"converted_from": path.name})
        folder.delete_training_files()
    return out


def _read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a released file as a dictionary; their names are without the prefix `module.`."""
    if not path.is_file():
        raise UsageError(f"{path} does not exist; check the path.")
    reject_oversized_pickles(path)
    _reject_damaged(path)
    try:
        with torch.serialization.safe_globals([torch.amp.GradScaler, torch.cuda.amp.GradScaler]):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file may raise any class of error
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(
            f"{path} is not a file of tensors, or contains code, which is not run ({lines[0].rstrip('.')})."
        ) from error
    return _collect_tensors(content, path)


def _collect_tensors(content: object, path: Path) -> dict[str, Tensor]:
    """Return the tensors of the core (the model without its output layer for tokens) and of its head.

    If the content has no such tensors, raise a UsageError.
    """
    state = content.get("model_state_dict", content) if isinstance(content, Mapping) else content
    if not isinstance(state, Mapping):
        raise UsageError(
            f"{path} is not a file of the released code: it contains {_describe_type(state)} instead of named tensors."
        )
    tensors: dict[str, Tensor] = {}
    for full_name, value in state.items():
        name = re.sub(r"^module\.", "", str(full_name))
        if not name.startswith(("core_model.", "nsp_head.")):
            continue
        if name in tensors:
            raise UsageError(f"{path} contains the tensor {name} twice, with and without the prefix module.")
        tensors[name] = _validate_tensor(value, name, path)
    if not any(name.startswith("core_model.") for name in tensors):
        raise UsageError(f"{path} is not a file of the released code: it has no tensors named core_model…")
    return tensors


def _reject_damaged(path: Path) -> None:
    """Raise a UsageError if a checksum of the archive is wrong; torch does not check them."""
    if zipfile.is_zipfile(path):
        with suppress(zipfile.BadZipFile, zlib.error, *_UNREADABLE), zipfile.ZipFile(path) as archive:
            if (part := archive.testzip()) is not None:
                raise UsageError(f"{path} is damaged: the checksum of {part} is wrong; download it again.")


def _validate_tensor(value: object, name: str, path: Path) -> Tensor:
    """Return the value if it is a dense tensor of finite floats or a causal mask; otherwise raise a UsageError."""
    if not isinstance(value, Tensor):
        raise UsageError(f"{path} is not a file of the released code: {name} is {_describe_type(value)}, not a tensor.")
    if _MASKS.search(name):
        return value
    if value.layout != torch.strided or value.is_meta or not value.is_floating_point():
        type_name = (
            "without values" if value.is_meta else f"of type {value.dtype}, {value.layout}".replace("torch.", "")
        )
        raise UsageError(
            f"{path} is not a file of the released code: {name} is a tensor {type_name}, not of dense floats."
        )
    if not value.float().isfinite().all():
        raise UsageError(f"{path} is damaged: {name} has values that are not finite; download it again.")
    return value


def _describe_type(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _fit_vocabulary(core: Any, base: CheckpointModel, state: Mapping[str, Tensor]) -> None:
    """Add a padding token if the released core has one more token than the base model, as for GPT-2."""
    known = core.get_input_embeddings().weight.shape[0]
    names = ("wte.weight", "shared.weight", "embed_tokens.weight")
    sizes = {tensor.shape[0] for name, tensor in state.items() if name.endswith(names) and tensor.dim() == 2}
    for size in sizes:
        if size == known + 1:
            base.tokenizer.add_special_tokens({"pad_token": _PAD})
            core.resize_token_embeddings(size, mean_resizing=False)


def _load_tensors(module: torch.nn.Module, named: Mapping[str, Tensor], path: Path, base: str) -> None:
    own = module.state_dict()
    shared = _find_shared_names(module)
    missing = sorted(name for name in own if name not in named and not (shared.get(name, set()) & set(named)))
    unknown = sorted(set(named) - set(own))
    unlike = sorted(name for name in set(own) & set(named) if own[name].shape != named[name].shape)
    for names, problem in ((missing, "missing"), (unknown, "unknown"), (unlike, "of another size")):
        if names:
            raise ModelError(f"{path} is not a head of {base}: {len(names)} tensors are {problem}, such as {names[0]}.")
    module.load_state_dict(dict(named), strict=False)


def _find_shared_names(module: torch.nn.Module) -> dict[str, set[str]]:
    """Return for each tensor name all names of this tensor, because layers can share a tensor."""
    by_identity: dict[int, set[str]] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        by_identity.setdefault(id(tensor), set()).add(name)
    return {name: names for names in by_identity.values() for name in names}
