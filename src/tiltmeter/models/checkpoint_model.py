"""Models in files: opened by name, loaded when their first question comes."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoTokenizer, GenerationConfig

from tiltmeter.engine.speedups import validate_names
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.files import create_temporary_folder
from tiltmeter.models.adapters import Adapter, find_model_files, merge_adapter
from tiltmeter.models.checkpoint import Checkpoint, find_tokenizer_folder
from tiltmeter.models.checkpoint_files import compute_files_digest, list_loaded_files, list_tokenizer_files
from tiltmeter.models.gguf_files import extract_config_files, read_gguf_once
from tiltmeter.models.hub_access import build_access_hint
from tiltmeter.models.incomplete_weights import reject_zero_gaps
from tiltmeter.models.local_model import LocalModel
from tiltmeter.models.model_checks import reject_absurd_depth, reject_extra_layers, reject_missing_tensors
from tiltmeter.models.model_kinds import AUTO_CLASSES, find_kind, has_next_sentence_head, list_possible_kinds
from tiltmeter.models.pickled_weights import reject_oversized_pickles
from tiltmeter.models.placement import (
    DeviceSplit,
    compute_memory_limits,
    describe_split,
    find_device,
    find_dtype,
    fits_on_device,
    parse_split,
)
from tiltmeter.models.quantization import (
    BYTES_PER_WEIGHT,
    Quantization,
    build_quantization_config,
    describe_quantization,
    find_saved_quantization,
    use_declared_precision,
    validate_quantization,
)
from tiltmeter.models.tensor_names import list_unused_modules
from tiltmeter.models.tokenizer_text import reject_empty_vocabulary
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.questions import Kind


@dataclass(frozen=True, kw_only=True)
class CheckpointModel(LocalModel):
    """A model in files. Its weights are loaded when the first question without a stored answer comes."""

    checkpoint: Checkpoint
    adapter: Adapter | None = None
    quantize: Quantization | None = None
    split: DeviceSplit = field(default_factory=DeviceSplit)
    # The number of modules on each device, once the model has been split.
    _split_over: dict[str, int] = field(default_factory=dict, repr=False)

    @cached_property
    def weights(self) -> str:
        """SHA-256 of all that is loaded: the files with weights, config, tokenizer, trusted code, and the adapter's.

        A quantised model, and one with an adapter, also depends on the libraries that make it.
        """
        base = compute_files_digest(
            list_loaded_files(self.checkpoint, self.tokenizer, trust_remote_code=self.trust_remote_code)
        )
        parts = [base]
        if self.adapter is not None:
            tokenizer = list_tokenizer_files(self.adapter.folder, self.tokenizer)
            parts += [
                compute_files_digest(self.adapter.files),
                compute_files_digest(tokenizer),
                f"peft {version('peft')}",
            ]
        if self.quantize is not None:
            parts += describe_quantization(self.quantize).values()
        return base if len(parts) == 1 else hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @property
    def size(self) -> int:
        """The size of the files with the weights, in bytes."""
        files = [*self.checkpoint.weight_files, *(self.adapter.files if self.adapter else ())]
        return sum(file.stat().st_size for file in files)

    @property
    def used_devices(self) -> list[torch.device]:
        """The devices that it answers on."""
        if self.devices:
            return [torch.device(name) for name in self.devices]
        places = [name for name in self._split_over if name.startswith("cuda")]
        return [torch.device(name) for name in places] or [self.device]

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, besides its name and fingerprints."""
        found: dict[str, Any] = {"revision": self.checkpoint.revision, **super().describe()}
        if self.adapter is not None:
            found["base"] = self.checkpoint.name
            found["adapter"] = {
                "name": self.adapter.name,
                "revision": self.adapter.revision,
                "type": self.adapter.config.get("peft_type"),
                "files": compute_files_digest(self.adapter.files),
            }
        if quantized := self._describe_quantization():
            found["quantized"] = quantized
        if self._split_over:
            found["split"] = self._split_over
        return found

    def _describe_quantization(self) -> dict[str, str] | None:
        if self.quantize is not None:
            return describe_quantization(self.quantize)
        saved = "gguf" if self.checkpoint.gguf else find_saved_quantization(self.config)
        return {"saved as": saved} if saved else None

    def get_load_options(self) -> dict[str, Any]:
        """The options with which a worker process opens the same model."""
        return {**super().get_load_options(), "trust_remote_code": self.trust_remote_code, "quantize": self.quantize}

    @silence_transformers()
    def _load_module(self, kind: Kind) -> nn.Module:
        divided = self.split.always or not (self.devices or fits_on_device(self._estimate_memory(), self.device))
        if not divided and self.quantize is None:
            ready: nn.Module = self._load_merged(kind).to(self.device).eval()
            return ready
        arguments: dict[str, Any] = {"device_map": {"": self.device}}
        if divided:
            arguments = {
                "device_map": "auto",
                "max_memory": compute_memory_limits(self.split, self.device),
                "offload_folder": str(self._folders.enter_context(create_temporary_folder())),
            }
        if self.quantize is not None:
            arguments["quantization_config"] = build_quantization_config(self.quantize, self.dtype)
        with self._prepare_merged_files(kind) as files:
            model: nn.Module = self._load_pretrained(kind, files, arguments).eval()
        if divided:
            self._split_over.update(describe_split(getattr(model, "hf_device_map", {"": self.device.type})))
        return model

    def _estimate_memory(self) -> float:
        """About how much memory the weights need."""
        if (find_saved_quantization(self.config) and not self.checkpoint.gguf) or self.skeleton is None:
            return self.size
        each = BYTES_PER_WEIGHT[self.quantize] if self.quantize else self.dtype.itemsize
        return each * sum(parameter.numel() for parameter in self.skeleton.parameters())

    def _load_merged(self, kind: Kind) -> nn.Module:
        """The model in main memory, with its adapter merged."""
        model = self._load_pretrained(kind, build_load_arguments(self.checkpoint), {})
        return merge_adapter(model, self.adapter, self.checkpoint.name) if self.adapter else model

    @contextmanager
    def _prepare_merged_files(self, kind: Kind) -> Iterator[dict[str, str]]:
        """The files to load; with an adapter, temporary ones of the merged model."""
        if self.adapter is None:
            yield build_load_arguments(self.checkpoint)
            return
        merged: Any = self._load_merged(kind)
        # Of a GGUF file, whose weights are no longer quantised.
        merged.hf_quantizer = None
        if hasattr(merged.config, "quantization_config"):
            del merged.config.quantization_config
        folder = str(self._folders.enter_context(create_temporary_folder()))
        merged.save_pretrained(folder)
        yield {"pretrained_model_name_or_path": folder}

    def _load_pretrained(self, kind: Kind, files: Mapping[str, str], arguments: Mapping[str, Any]) -> Any:
        """The model by transformers' `from_pretrained`, with errors as sentences."""
        try:
            with read_gguf_once(files):
                model, info = AUTO_CLASSES[kind].from_pretrained(
                    config=self.config,
                    dtype=self.dtype,
                    trust_remote_code=self.trust_remote_code,
                    output_loading_info=True,
                    **files,
                    **arguments,
                    # Only translators decode as the model's own generation config says.
                    **({} if kind == "seq2seq" else {"generation_config": GenerationConfig()}),  # type: ignore[no-untyped-call]
                )
        except Exception as error:  # of transformers, or of code that comes with the model
            how = " and split over devices" if "max_memory" in arguments else ""
            how += f" in {self.quantize}" if "quantization_config" in arguments else ""
            raise ModelError(
                f"The weights of {self.name} could not be loaded as {kind}{how}: {_get_first_line(error)}"
            ) from error
        possible = " or ".join(list_possible_kinds(self.config)) or "none of the kinds"
        remedy = f". Models of its type can be used as {possible}; choose with --kind."
        reject_missing_tensors(f"{self.name} cannot be used as {kind}", info, remedy)
        reject_extra_layers(self.name, model, info)
        self.unused[kind] = list_unused_modules(info["unexpected_keys"])
        use_declared_precision(model)
        return model


@silence_transformers()
def open_model(
    name: str,
    *,
    kind: Kind | None = None,
    device: str = "auto",
    devices: Sequence[str] = (),
    dtype: str = "auto",
    batch_tokens: int | None = None,
    trust_remote_code: bool = False,
    cache: Path | None = None,
    tokenizer: str | None = None,
    quantize: str | None = None,
    split: bool = False,
    max_memory: Mapping[str, str] | None = None,
    without: Collection[str] = (),
    keep_heads: bool = False,
) -> CheckpointModel:
    """The model of a name: a folder, a .gguf file, a hub id (`id@revision`), `embedded`, an adapter, or BASE+ADAPTER.

    The options are those of `ModelOptions`. `cache` is a folder for the config and tokenizer of a GGUF file, which take
    seconds to extract. `without` names speed-ups to leave out (`tiltmeter.engine.speedups.NAMES`).
    """
    if devices and (split or max_memory):
        raise UsageError("--devices puts a whole copy on each device, --split divides one; choose one of them.")
    checkpoint, adapter = find_model_files(name, trust_remote_code=trust_remote_code)
    validate_weights(checkpoint)
    text_files = _build_text_arguments(checkpoint, cache)
    config = read_config(name, trust_remote_code, text_files)
    reject_absurd_depth(name, config)
    chosen = kind or find_kind(checkpoint, config)
    if chosen not in list_possible_kinds(config):
        raise ModelError(
            f"{name} ({config.model_type}) cannot be used as {chosen}; it can be used as "
            f"{' or '.join(list_possible_kinds(config)) or 'none of the kinds'}."
        )
    where = find_device(devices[0] if devices else device)
    return CheckpointModel(
        name=name,
        checkpoint=checkpoint,
        adapter=adapter,
        quantize=validate_quantization(quantize, checkpoint, config, where),
        split=parse_split(split, max_memory),
        config=config,
        tokenizer=_find_tokenizer(name, config, text_files, tokenizer, adapter, trust_remote_code),
        kind=chosen,
        has_next_sentence_head=chosen == "masked" and has_next_sentence_head(checkpoint, config),
        device=where,
        dtype=find_dtype(dtype, where, config),
        batch_tokens=batch_tokens,
        devices=tuple(devices),
        trust_remote_code=trust_remote_code,
        without=validate_names(without),
        keep_heads=keep_heads,
    )


def validate_weights(checkpoint: Checkpoint) -> None:
    """A ModelError if the files with the weights are missing or cannot be sound, without loading them."""
    for file in checkpoint.weight_files:
        reject_oversized_pickles(file)
    if checkpoint.tensor_names is not None:
        for file in checkpoint.weight_files:
            reject_zero_gaps(file)


def read_config(name: str, trust_remote_code: bool, files: dict[str, str]) -> Any:
    """The config in these files, with errors as sentences."""
    try:
        with read_gguf_once(files):
            return AutoConfig.from_pretrained(trust_remote_code=trust_remote_code, **files)
    except Exception as error:
        hint = "" if trust_remote_code else " If it brings code of its own that you trust, pass --trust-remote-code."
        raise ModelError(f"The config of {name} cannot be read: {_get_first_line(error)}{hint}") from error


def _find_tokenizer(
    name: str, config: Any, own: dict[str, str], given: str | None, adapter: Adapter | None, trust_remote_code: bool
) -> Any:
    """The tokenizer that was asked for, or that was saved with the adapter, or the model's own."""
    if given is not None:
        folder = find_tokenizer_folder(given, trust_remote_code=trust_remote_code)
        loaded = load_tokenizer(name, trust_remote_code, {"pretrained_model_name_or_path": str(folder)})
        which = f"The tokenizer {given}"
    elif adapter is not None and adapter.has_tokenizer:
        loaded = load_tokenizer(name, trust_remote_code, {"pretrained_model_name_or_path": str(adapter.folder)})
        which = f"The tokenizer of the adapter {adapter.name}"
    else:
        return load_tokenizer(name, trust_remote_code, own)
    known = config.get_text_config().vocab_size
    if len(loaded) > known:
        raise ModelError(
            f"{which} has {len(loaded):,} tokens, and {name} knows only {known:,}; it is not a tokenizer for this "
            "model."
        )
    return loaded


def load_tokenizer(name: str, trust_remote_code: bool, files: dict[str, str]) -> Any:
    """The tokenizer in these files, with errors as sentences."""
    try:
        with read_gguf_once(files):
            tokenizer = AutoTokenizer.from_pretrained(trust_remote_code=trust_remote_code, **files)
    except Exception as error:
        reason = build_access_hint(error, files["pretrained_model_name_or_path"]) or _get_first_line(error)
        raise ModelError(f"The tokenizer of {name} cannot be loaded: {reason}") from error
    reject_empty_vocabulary(tokenizer, name)
    return tokenizer


def _build_text_arguments(checkpoint: Checkpoint, cache: Path | None) -> dict[str, str]:
    """The arguments that load config and tokenizer. Those of a GGUF file are extracted once, into `cache`."""
    inside = build_load_arguments(checkpoint)
    if not checkpoint.gguf or cache is None:
        return inside
    try:
        extracted = extract_config_files(
            checkpoint.folder / checkpoint.gguf, cache / "gguf" / compute_files_digest(checkpoint.weight_files)
        )
    except (ModelError, UsageError):
        return inside  # reading it again gives the error; a cache that cannot be written is only slower
    return {"pretrained_model_name_or_path": str(extracted)}


def build_load_arguments(checkpoint: Checkpoint) -> dict[str, str]:
    """The arguments that load a checkpoint."""
    files = {"pretrained_model_name_or_path": str(checkpoint.folder)}
    return {**files, "gguf_file": checkpoint.gguf} if checkpoint.gguf else files


def _get_first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
