"""A transformers model that is already loaded, with its tokenizer, for example in a notebook or during training."""

import copy
import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import torch
from torch import nn

from tiltmeter.engine.speedups import validate_speedup_names
from tiltmeter.errors import ModelError
from tiltmeter.models.local_model import LocalModel
from tiltmeter.models.model_kinds import find_class_kind
from tiltmeter.models.tokenizer_text import compute_tokenizer_digest, reject_empty_vocabulary
from tiltmeter.questions import Kind

# Attributes of modules that do not affect answers; `training` has no effect, because models run in evaluation mode.
_IGNORED_ATTRIBUTES = ("training", "name_or_path", "warnings_issued")
# Entries of a config that do not affect answers.
_IGNORED_CONFIG_ENTRIES = ("_name_or_path", "transformers_version")


@dataclass(frozen=True, kw_only=True)
class InMemoryModel(LocalModel):
    """A model that is already loaded. It runs on its own device and in its own precision, and it is not changed."""

    module: nn.Module

    @cached_property
    def weights(self) -> str:
        """The SHA-256 of parameters, buffers, config and tokenizer."""
        digest = hashlib.sha256()
        for part in chain(
            _serialize_weights(self.module),
            _serialize_config(self.config),
            [compute_tokenizer_digest(self.tokenizer).encode()],
        ):
            digest.update(part)
        return digest.hexdigest()

    @property
    def size(self) -> int:
        """The size of the weights in memory, in bytes."""
        return sum(parameter.numel() * parameter.element_size() for parameter in self.module.parameters())

    @cached_property
    def skeleton(self) -> nn.Module:
        """The loaded model itself, which replaces the skeleton without data that other models have."""
        return self.module

    def close(self) -> None:
        """Free memory, and forget the hash of the weights, because the model may be trained before its next use."""
        super().close()
        self.__dict__.pop("weights", None)

    def _load_module(self, kind: Kind) -> nn.Module:
        assert kind == self.kind, "a loaded model has only the head that it was loaded with"
        # Speed-ups replace modules. Therefore they get a copy of the model, which shares the tensors.
        tensors = {id(tensor): tensor for tensor in chain(self.module.parameters(), self.module.buffers())}
        return copy.deepcopy(self.module, tensors).eval()


def wrap_loaded_model(
    module: nn.Module,
    tokenizer: Any,
    *,
    name: str | None = None,
    kind: Kind | None = None,
    batch_tokens: int | None = None,
    without: Collection[str] = (),
) -> InMemoryModel:
    """Wrap a loaded transformers model and its tokenizer as a `Model` for runs.

    `name` is the model's name in results; the default is the name from which the model was loaded, or else the name of
    its class. `without` contains the names of speed-ups to disable.
    """
    config = getattr(module, "config", None)
    name = name or str(getattr(config, "_name_or_path", "") or type(module).__name__)
    class_kind = find_class_kind(module, config) if config is not None else None
    if class_kind is None:
        raise ModelError(
            f"{name} is a {type(module).__name__}, which has no supported language-model head; load it with "
            "AutoModelForMaskedLM, AutoModelForCausalLM or AutoModelForSeq2SeqLM."
        )
    if kind is not None and kind != class_kind:
        raise ModelError(
            f"{name} is a {type(module).__name__}, which is used as {class_kind}, not as {kind}; omit `kind`."
        )
    reject_empty_vocabulary(tokenizer, name)
    devices = {parameter.device for parameter in module.parameters()}
    if len(devices) != 1:
        raise ModelError(
            f"{name} is spread over {', '.join(sorted(map(str, devices))) or 'no device'}; move it to one device, or "
            "pass its name or folder instead."
        )
    return InMemoryModel(
        name=name,
        module=module,
        config=config,
        # The tokenizer is copied, because encoding turns off its truncation and padding.
        tokenizer=copy.deepcopy(tokenizer),
        kind=class_kind,
        has_next_sentence_head=False,
        device=devices.pop(),
        dtype=next(parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()),
        batch_tokens=batch_tokens,
        without=validate_speedup_names(without),
    )


def _serialize_weights(module: nn.Module) -> Iterator[bytes]:
    """Yield as bytes the settings of all modules, and all parameters and buffers, including unsaved buffers.

    The settings are included because they contain the scale of an unmerged adapter, and whether the adapter is active.
    """
    for name, part in module.named_modules():
        yield f"{name} {type(part).__module__}.{type(part).__qualname__} {_describe_settings(part)}\n".encode()
    tensors = {**module.state_dict(), **dict(module.named_buffers())}
    for name, tensor in sorted(tensors.items()):
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode()
        yield tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def _describe_settings(module: nn.Module) -> str:
    """Return as JSON the attributes of a module that are numbers, texts, None, or containers of such values."""
    plain = {
        name: value for name, value in vars(module).items() if name not in _IGNORED_ATTRIBUTES and _is_plain(value)
    }
    return json.dumps(plain, sort_keys=True, default=sorted)


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(inner) for key, inner in value.items())
    if isinstance(value, list | tuple | set):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def _serialize_config(config: Any) -> Iterator[bytes]:
    values = {key: value for key, value in config.to_dict().items() if key not in _IGNORED_CONFIG_ENTRIES}
    yield json.dumps(values, sort_keys=True, default=str).encode()
