"""PEFT adapters: their files, the base model that they belong to, and merging them into it."""

import warnings
from collections.abc import Iterator
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
# PEFT puts the name of the adapter into the names of its parameters.
_ADAPTER_KEY = ".default"


@dataclass(frozen=True)
class Adapter:
    """The files of one adapter."""

    name: str
    folder: Path
    revision: str | None = None

    @cached_property
    def config(self) -> dict[str, Any]:
        """The adapter's config."""
        try:
            values = read_json(self.folder / ADAPTER_CONFIG)
        except DataError as error:
            raise ModelError(f"The {ADAPTER_CONFIG} of {self.name} cannot be read: {error}") from error
        return values if isinstance(values, dict) else {}

    @property
    def files(self) -> list[Path]:
        """The files that are loaded: config and weights."""
        weights = next((self.folder / name for name in _WEIGHTS if (self.folder / name).is_file()), None)
        if weights is None:
            raise ModelError(f"The adapter {self.name} has no weights: {self.folder} holds no {' or '.join(_WEIGHTS)}.")
        return [self.folder / ADAPTER_CONFIG, weights]

    @property
    def has_tokenizer(self) -> bool:
        """Whether a tokenizer was saved with the adapter, as training scripts do when they add tokens."""
        return any((self.folder / name).is_file() for name in _TOKENIZER_FILES)

    @property
    def base(self) -> str:
        """The base model that the config names: a folder, also relative to the adapter's, or a hub id."""
        named = self.config.get("base_model_name_or_path")
        if not named:
            raise ModelError(f"The adapter {self.name} names no base model; give it as BASE+{self.name}.")
        if Path(named).is_dir():
            return str(named)
        if (self.folder / str(named)).is_dir():
            return str(self.folder / str(named))
        revision = self.config.get("revision")
        return f"{named}@{revision}" if revision else str(named)


def find_model_files(name: str, *, trust_remote_code: bool = False) -> tuple[Checkpoint, Adapter | None]:
    """The checkpoint of a name, and the adapter to merge into it: of `BASE+ADAPTER`, or of an adapter's own name."""
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
            raise ModelError(f"{adapter_name} is not an adapter: {found.folder} holds no {ADAPTER_CONFIG}.")
        adapter = Adapter(adapter_name, found.folder, found.revision)
    if base.is_adapter:
        raise ModelError(f"The base model {base.name} is an adapter itself; name the model that it was trained on.")
    _validate_adapter(adapter)
    return base, adapter


def split_adapter_name(name: str) -> tuple[str, str | None]:
    """The base model and the adapter of `BASE+ADAPTER`; other names have no adapter.

    >>> split_adapter_name("gpt2+./my-lora"), split_adapter_name("gpt2")
    (('gpt2', './my-lora'), ('gpt2', None))
    """
    if "+" not in name or expand_home(name).exists():
        return name, None
    splits = list(_list_splits(name))
    # A folder may have a plus in its name.
    existing = [pair for pair in splits if expand_home(pair[1]).is_dir()]
    base, adapter = (existing or splits)[0]
    if not base or not adapter:
        raise ModelError(f"{name!r} names no base model or no adapter; write BASE+ADAPTER.")
    return base, adapter


def merge_adapter(module: nn.Module, adapter: Adapter, base: str) -> nn.Module:
    """The base model with the adapter merged into its weights."""
    peft = _import_peft()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            config = peft.PeftConfig.from_pretrained(str(adapter.folder))
            config.inference_mode = True
            adapted = peft.PeftModel(module, config)
            loaded = peft.set_peft_model_state_dict(adapted, peft.load_peft_weights(str(adapter.folder), device="cpu"))
        except Exception as error:  # of many kinds: other modules, other sizes, damaged files
            raise _build_mismatch_error(adapter, base, str(error).strip().splitlines()[-1].strip()) from error
        missing = [key for key in loaded.missing_keys if _ADAPTER_KEY in key]
        if unmatched := [*missing, *loaded.unexpected_keys]:
            whose = "the adapter lacks" if missing else "the base model has no place for"
            raise _build_mismatch_error(adapter, base, f"{whose} {unmatched[0]}")
        try:
            merged: nn.Module = adapted.merge_and_unload()
        except Exception as error:
            raise ModelError(
                f"The adapter {adapter.name} ({config.peft_type.value}) cannot be merged into its base model: {error}"
            ) from error
    return merged


def _validate_adapter(adapter: Adapter) -> None:
    """Refuse what can be told to be unusable before any weights are loaded."""
    _ = adapter.files
    if find_spec("peft") is None:
        raise ModelError(f"{adapter.name} is an adapter, which needs PEFT: pip install 'tiltmeter[peft]'")
    try:
        config = _import_peft().PeftConfig.from_pretrained(str(adapter.folder))
    except Exception as error:  # of many kinds: unknown types, fields of other versions
        raise ModelError(f"The {ADAPTER_CONFIG} of {adapter.name} cannot be read by PEFT: {error}") from error
    if config.is_prompt_learning:
        raise ModelError(
            f"The adapter {adapter.name} is of the type {config.peft_type.value}: it adds virtual tokens to the input "
            "and cannot be merged into the weights, so it cannot be measured."
        )


def _find_base(adapter: Adapter, trust_remote_code: bool) -> Checkpoint:
    try:
        return find_checkpoint(adapter.base, trust_remote_code=trust_remote_code)
    except ModelError as error:
        if not adapter.config.get("base_model_name_or_path"):
            raise
        raise ModelError(
            f"The base model of the adapter {adapter.name} was not found; if it is elsewhere now, give it as "
            f"BASE+{adapter.name}. {error}"
        ) from error


def _import_peft() -> Any:
    """The package PEFT: an extra, and slow to import."""
    return import_module("peft")


def _list_splits(name: str) -> Iterator[tuple[str, str]]:
    for index, character in enumerate(name):
        if character == "+":
            yield name[:index], name[index + 1 :]


def _build_mismatch_error(adapter: Adapter, base: str, reason: str) -> ModelError:
    return ModelError(f"The adapter {adapter.name} does not fit the base model {base}: {reason.rstrip('.')}.")
