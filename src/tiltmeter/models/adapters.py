"""PEFT adapters: their files, their base model, and merging them into the base model."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torch import nn

from tiltmeter.errors import DataError, ModelError
from tiltmeter.models.checkpoint import ADAPTER_CONFIG, Checkpoint, find_checkpoint
from tiltmeter.text_files import expand_home, read_json

_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
# PEFT puts this name of the adapter into the names of the adapter's parameters.
_ADAPTER_KEY = ".default"


@dataclass(frozen=True)
class Adapter:
    """The files of one PEFT adapter."""

    name: str
    folder: Path
    revision: str | None = None

    @cached_property
    def config(self) -> dict[str, Any]:
        """The content of the adapter's config file; empty if the file does not contain a JSON object."""
        try:
            values = read_json(self.folder / ADAPTER_CONFIG)
        except DataError as error:
            raise ModelError(f"The {ADAPTER_CONFIG} of {self.name} cannot be read: {error}") from error
        return values if isinstance(values, dict) else {}

    @property
    def files(self) -> list[Path]:
        """The paths of the adapter's config file and weight file."""
        weights = next((self.folder / name for name in _WEIGHTS if (self.folder / name).is_file()), None)
        if weights is None:
            raise ModelError(
                f"The adapter {self.name} has no weights: {self.folder} contains no {' or '.join(_WEIGHTS)}."
            )
        return [self.folder / ADAPTER_CONFIG, weights]

    @property
    def has_tokenizer(self) -> bool:
        """Whether a tokenizer was saved with the adapter; training scripts save a tokenizer if they added tokens."""
        return any((self.folder / name).is_file() for name in _TOKENIZER_FILES)

    @property
    def base(self) -> str:
        """The base model named in the config: a hub id, or a folder (absolute, or relative to the adapter's folder)."""
        named = self.config.get("base_model_name_or_path")
        if not named:
            raise ModelError(
                f"The config of the adapter {self.name} names no base model; write BASE+{self.name} with the name of "
                "the base model as BASE."
            )
        if Path(named).is_dir():
            return str(named)
        if (self.folder / str(named)).is_dir():
            return str(self.folder / str(named))
        revision = self.config.get("revision")
        return f"{named}@{revision}" if revision else str(named)


def find_model_files(name: str, *, trust_remote_code: bool = False) -> tuple[Checkpoint, Adapter | None]:
    """Return the checkpoint of a model, and the adapter to merge into this checkpoint; None if there is no adapter.

    A model with an adapter is named `BASE+ADAPTER`, or by the adapter alone if the adapter's config names the base
    model.
    """
    base_name, adapter_name = split_adapter_name(name)
    if adapter_name is None:
        found = find_checkpoint(name, trust_remote_code=trust_remote_code)
        if not found.is_adapter:
            return found, None
        adapter = Adapter(name, found.folder, found.revision)
        base = _find_base(adapter, trust_remote_code)
    else:
        base = find_checkpoint(base_name, trust_remote_code=trust_remote_code)
        found = find_checkpoint(adapter_name, trust_remote_code=trust_remote_code)
        if not found.is_adapter:
            raise ModelError(f"{adapter_name} is not an adapter: {found.folder} contains no {ADAPTER_CONFIG}.")
        adapter = Adapter(adapter_name, found.folder, found.revision)
    if base.is_adapter:
        raise ModelError(f"The base model {base.name} is an adapter itself; name the model that it was trained on.")
    _validate_adapter(adapter)
    return base, adapter


def split_adapter_name(name: str) -> tuple[str, str | None]:
    """Return the base model and the adapter of a name `BASE+ADAPTER`; for other names, the adapter is None.

    >>> split_adapter_name("gpt2+./my-lora"), split_adapter_name("gpt2")
    (('gpt2', './my-lora'), ('gpt2', None))
    """
    if "+" not in name or expand_home(name).exists():
        return name, None
    splits = [(name[:index], name[index + 1 :]) for index, character in enumerate(name) if character == "+"]
    # The name of a folder may contain a plus sign, so a split whose second part is an existing folder is preferred.
    existing = [pair for pair in splits if expand_home(pair[1]).is_dir()]
    base, adapter = (existing or splits)[0]
    if not base or not adapter:
        raise ModelError(f"{name!r} lacks the base model or the adapter; write BASE+ADAPTER.")
    return base, adapter


def merge_adapter(module: nn.Module, adapter: Adapter, base: str) -> nn.Module:
    """Return the base model with the adapter merged into its weights."""
    peft = import_module("peft")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            config = peft.PeftConfig.from_pretrained(str(adapter.folder))
            config.inference_mode = True
            adapted = peft.PeftModel(module, config)
            loaded = peft.set_peft_model_state_dict(adapted, peft.load_peft_weights(str(adapter.folder), device="cpu"))
        except Exception as error:  # PEFT has no base class for errors of wrong modules, wrong sizes or damaged files
            raise _build_mismatch_error(adapter, base, str(error).strip().splitlines()[-1].strip()) from error
        missing = [key for key in loaded.missing_keys if _ADAPTER_KEY in key]
        if unmatched := [*missing, *loaded.unexpected_keys]:
            problem = "the adapter lacks" if missing else "the base model has no module for"
            raise _build_mismatch_error(adapter, base, f"{problem} {unmatched[0]}")
        try:
            merged: nn.Module = adapted.merge_and_unload()
        except Exception as error:
            raise ModelError(
                f"The adapter {adapter.name} ({config.peft_type.value}) cannot be merged into its base model: {error}"
            ) from error
    return merged


def _validate_adapter(adapter: Adapter) -> None:
    """Raise an error if the adapter cannot be used; the weights are not loaded."""
    _ = adapter.files
    if find_spec("peft") is None:
        raise ModelError(f"{adapter.name} is an adapter, which needs PEFT: pip install 'tiltmeter[peft]'")
    try:
        config = import_module("peft").PeftConfig.from_pretrained(str(adapter.folder))
    except Exception as error:  # PEFT has no base class for errors of unknown adapter types or unknown fields
        raise ModelError(f"The {ADAPTER_CONFIG} of {adapter.name} cannot be read by PEFT: {error}") from error
    if config.is_prompt_learning:
        raise ModelError(
            f"The adapter {adapter.name} has the type {config.peft_type.value}, which adds virtual tokens to the input "
            "and cannot be merged into the weights; use an adapter such as LoRA, or measure the base model."
        )


def _find_base(adapter: Adapter, trust_remote_code: bool) -> Checkpoint:
    try:
        return find_checkpoint(adapter.base, trust_remote_code=trust_remote_code)
    except ModelError as error:
        if not adapter.config.get("base_model_name_or_path"):
            raise
        raise ModelError(
            f"The base model of the adapter {adapter.name} was not found; if it has moved, name it as "
            f"BASE+{adapter.name}. {error}"
        ) from error


def _build_mismatch_error(adapter: Adapter, base: str, reason: str) -> ModelError:
    return ModelError(f"The adapter {adapter.name} does not fit the base model {base}: {reason.rstrip('.')}.")
