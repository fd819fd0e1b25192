"""Models that are opened by name from files; the weights are loaded when they are first needed."""

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

from tiltmeter.engine.speedups import validate_speedup_names
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.files import create_temporary_folder
from tiltmeter.models.adapters import Adapter, find_model_files, merge_adapter
from tiltmeter.models.checkpoint import Checkpoint, find_tokenizer_folder
from tiltmeter.models.checkpoint_files import compute_files_digest, list_loaded_files, list_tokenizer_files
from tiltmeter.models.device_placement import (
    DeviceSplit,
    compute_memory_limits,
    describe_split,
    find_device,
    find_dtype,
    fits_on_device,
    parse_device_split,
)
from tiltmeter.models.error_text import get_first_line
from tiltmeter.models.gguf_files import extract_config_files, read_gguf_once
from tiltmeter.models.hub_access import build_access_hint
from tiltmeter.models.incomplete_weights import reject_zero_gaps
from tiltmeter.models.local_model import LoadWorkers, LocalModel
from tiltmeter.models.model_checks import reject_absurd_depth, reject_extra_layers, reject_missing_tensors
from tiltmeter.models.model_kinds import AUTO_CLASSES, find_kind, has_next_sentence_head, list_possible_kinds
from tiltmeter.models.pickled_weights import reject_oversized_pickles
from tiltmeter.models.quantization import (
    BYTES_PER_WEIGHT,
    Quantization,
    build_quantization_config,
    describe_quantization,
    find_saved_quantization,
    use_declared_precision,
    validate_quantization,
)
from tiltmeter.models.steering import SteeringVector, split_vector_name
from tiltmeter.models.tensor_names import list_unused_modules
from tiltmeter.models.tokenizer_text import reject_empty_vocabulary
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.questions import Kind


@dataclass(frozen=True, kw_only=True)
class CheckpointModel(LocalModel):
    """A model in files. Its weights are loaded at the first question that has no stored answer."""

    checkpoint: Checkpoint
    adapter: Adapter | None = None
    steering: SteeringVector | None = None
    quantize: Quantization | None = None
    split: DeviceSplit = field(default_factory=DeviceSplit)
    # The number of modules on each device; empty if the model is not loaded or is on one device.
    _modules_by_device: dict[str, int] = field(default_factory=dict, repr=False)

    @cached_property
    def weights(self) -> str:
        """The SHA-256 of all loaded files: weights, config, tokenizer, trusted code, adapter and steering vector.

        If the model is quantised or has an adapter, the hash includes the version of the library that quantises or
        merges.
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
        if self.steering is not None:
            parts.append(self.steering.digest)
        return base if len(parts) == 1 else hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @property
    def size(self) -> int:
        """The total size of the weight files in bytes."""
        files = [*self.checkpoint.weight_files, *(self.adapter.files if self.adapter else ())]
        return sum(file.stat().st_size for file in files)

    @property
    def used_devices(self) -> list[torch.device]:
        """The devices that the model runs on."""
        if self.devices:
            return [torch.device(name) for name in self.devices]
        gpus = [name for name in self._modules_by_device if name.startswith("cuda")]
        return [torch.device(name) for name in gpus] or [self.device]

    def describe(self) -> dict[str, Any]:
        """Return the model's entry in the manifest of a run, without the model's name and fingerprints."""
        entry: dict[str, Any] = {"revision": self.checkpoint.revision, **super().describe()}
        if self.adapter is not None:
            entry["base"] = self.checkpoint.name
            entry["adapter"] = {
                "name": self.adapter.name,
                "revision": self.adapter.revision,
                "type": self.adapter.config.get("peft_type"),
                "files": compute_files_digest(self.adapter.files),
            }
        if self.steering is not None:
            entry |= {"base": self.checkpoint.name, "steering": self.steering.describe()}
        if quantized := self._describe_quantization():
            entry["quantized"] = quantized
        if self._modules_by_device:
            entry["split"] = self._modules_by_device
        return entry

    def _describe_quantization(self) -> dict[str, str] | None:
        if self.quantize is not None:
            return describe_quantization(self.quantize)
        saved = "gguf" if self.checkpoint.gguf else find_saved_quantization(self.config)
        return {"saved as": saved} if saved else None

    def get_load_options(self) -> dict[str, Any]:
        """Return the options with which a worker process opens the same model."""
        return {**super().get_load_options(), "trust_remote_code": self.trust_remote_code, "quantize": self.quantize}

    @silence_transformers()
    def _load_module(self, kind: Kind) -> nn.Module:
        module = self._load_placed_module(kind)
        return module if self.steering is None else self.steering.steer(module, self.checkpoint.name)

    def _load_placed_module(self, kind: Kind) -> nn.Module:
        """Return the model on its device or devices, merged and quantised, without steering."""
        is_split = self.split.always or not (self.devices or fits_on_device(self._estimate_memory(), self.device))
        if not is_split and self.quantize is None:
            whole: nn.Module = self._load_merged(kind).to(self.device).eval()
            return whole
        arguments: dict[str, Any] = {"device_map": {"": self.device}}
        if is_split:
            arguments = {
                "device_map": "auto",
                "max_memory": compute_memory_limits(self.split, self.device),
                "offload_folder": str(self._folders.enter_context(create_temporary_folder())),
            }
        if self.quantize is not None:
            arguments["quantization_config"] = build_quantization_config(self.quantize, self.dtype)
        with self._prepare_merged_files(kind) as files:
            model: nn.Module = self._load_pretrained(kind, files, arguments).eval()
        if is_split:
            self._modules_by_device.update(describe_split(getattr(model, "hf_device_map", {"": self.device.type})))
        return model

    def _estimate_memory(self) -> float:
        """Return an estimate of the memory that the weights need, in bytes."""
        if (find_saved_quantization(self.config) and not self.checkpoint.gguf) or self.skeleton is None:
            return self.size
        each = BYTES_PER_WEIGHT[self.quantize] if self.quantize else self.dtype.itemsize
        return each * sum(parameter.numel() for parameter in self.skeleton.parameters())

    def _load_merged(self, kind: Kind) -> nn.Module:
        """Return the model on the CPU; if the model has an adapter, the adapter is merged into the weights."""
        model = self._load_pretrained(kind, build_load_arguments(self.checkpoint), {})
        return merge_adapter(model, self.adapter, self.checkpoint.name) if self.adapter else model

    @contextmanager
    def _prepare_merged_files(self, kind: Kind) -> Iterator[dict[str, str]]:
        """Yield arguments for `from_pretrained` that name the checkpoint or, if there is an adapter, the merged model.

        The merged model is saved in a temporary folder.
        """
        if self.adapter is None:
            yield build_load_arguments(self.checkpoint)
            return
        merged: Any = self._load_merged(kind)
        # The weights of a GGUF file were dequantised during loading, so the merged model must not be saved as
        # quantised.
        merged.hf_quantizer = None
        if hasattr(merged.config, "quantization_config"):
            del merged.config.quantization_config
        folder = str(self._folders.enter_context(create_temporary_folder()))
        merged.save_pretrained(folder)
        yield {"pretrained_model_name_or_path": folder}

    def _load_pretrained(self, kind: Kind, files: Mapping[str, str], arguments: Mapping[str, Any]) -> Any:
        """Load the model with transformers' `from_pretrained`; convert errors to ModelError."""
        try:
            with read_gguf_once(files):
                model, info = AUTO_CLASSES[kind].from_pretrained(
                    config=self.config,
                    dtype=self.dtype,
                    trust_remote_code=self.trust_remote_code,
                    output_loading_info=True,
                    **files,
                    **arguments,
                    # Only translation uses the generation config of the model, so other models get an empty one.
                    **({} if kind == "seq2seq" else {"generation_config": GenerationConfig()}),  # type: ignore[no-untyped-call]
                )
        except Exception as error:  # transformers and the model's own code raise many classes of errors
            how = " and split over devices" if "max_memory" in arguments else ""
            how += f" in {self.quantize}" if "quantization_config" in arguments else ""
            raise ModelError(
                f"The weights of {self.name} could not be loaded as {kind}{how}: {get_first_line(error)}"
            ) from error
        possible = " or ".join(list_possible_kinds(self.config)) or "none of the kinds"
        remedy = f". Models of this type can be used as {possible}; choose with --kind."
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
    load_workers: LoadWorkers | None = None,
) -> CheckpointModel:
    """Open a model by name: folder, .gguf file, hub id (`id@revision`), `embedded` (built-in), adapter, BASE+ADAPTER.

    `+VECTOR.safetensors` at the end of a name adds a steering vector.

    Most options are explained in `ModelOptions`. `cache` is a folder for the config and tokenizer of a GGUF file,
    because extracting them takes seconds. `without` contains the names of speed-ups to disable
    (`tiltmeter.engine.speedups.NAMES`). `load_workers` is explained in `LocalModel`.
    """
    if devices and (split or max_memory):
        raise UsageError(
            "--devices loads the whole model on each device, --split divides the model; use only one of these options."
        )
    steered_name, steering = split_vector_name(name)
    checkpoint, adapter = find_model_files(steered_name, trust_remote_code=trust_remote_code)
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
    if steering is not None:
        steering.validate(checkpoint.name, config, chosen)
    first_device = find_device(devices[0] if devices else device)
    return CheckpointModel(
        name=name,
        checkpoint=checkpoint,
        adapter=adapter,
        steering=steering,
        quantize=validate_quantization(quantize, checkpoint, config, first_device),
        split=parse_device_split(split, max_memory),
        config=config,
        tokenizer=_find_tokenizer(name, config, text_files, tokenizer, adapter, trust_remote_code),
        kind=chosen,
        has_next_sentence_head=chosen == "masked" and has_next_sentence_head(checkpoint, config),
        device=first_device,
        dtype=find_dtype(dtype, first_device, config),
        batch_tokens=batch_tokens,
        devices=tuple(devices),
        trust_remote_code=trust_remote_code,
        without=validate_speedup_names(without),
        keep_heads=keep_heads,
        load_workers=load_workers,
    )


def validate_weights(checkpoint: Checkpoint) -> None:
    """Raise a ModelError if weight files are missing or visibly damaged; the weights are not loaded."""
    for file in checkpoint.weight_files:
        reject_oversized_pickles(file)
    if checkpoint.tensor_names is not None:
        for file in checkpoint.weight_files:
            reject_zero_gaps(file)


def read_config(name: str, trust_remote_code: bool, files: dict[str, str]) -> Any:
    """Return the model's config; `files` are arguments for `from_pretrained`. Errors are converted to ModelError."""
    try:
        with read_gguf_once(files):
            return AutoConfig.from_pretrained(trust_remote_code=trust_remote_code, **files)
    except Exception as error:
        hint = "" if trust_remote_code else " If the model has its own code and you trust it, use --trust-remote-code."
        raise ModelError(f"The config of {name} cannot be read: {get_first_line(error)}{hint}") from error


def _find_tokenizer(
    name: str, config: Any, own: dict[str, str], given: str | None, adapter: Adapter | None, trust_remote_code: bool
) -> Any:
    """Return the tokenizer with the name `given`, or else the adapter's tokenizer, or else the model's tokenizer."""
    if given is not None:
        folder = find_tokenizer_folder(given, trust_remote_code=trust_remote_code)
        loaded = load_tokenizer(name, trust_remote_code, {"pretrained_model_name_or_path": str(folder)})
        description = f"The tokenizer {given}"
    elif adapter is not None and adapter.has_tokenizer:
        loaded = load_tokenizer(name, trust_remote_code, {"pretrained_model_name_or_path": str(adapter.folder)})
        description = f"The tokenizer of the adapter {adapter.name}"
    else:
        return load_tokenizer(name, trust_remote_code, own)
    known = config.get_text_config().vocab_size
    if len(loaded) > known:
        raise ModelError(
            f"{description} has {len(loaded):,} tokens, but {name} has only {known:,}; use the tokenizer that the "
            "model was trained with."
        )
    return loaded


def load_tokenizer(name: str, trust_remote_code: bool, files: dict[str, str]) -> Any:
    """Return the tokenizer; `files` are arguments for `from_pretrained`. Errors are converted to ModelError."""
    try:
        with read_gguf_once(files):
            tokenizer = AutoTokenizer.from_pretrained(trust_remote_code=trust_remote_code, **files)
    except Exception as error:
        reason = build_access_hint(error, files["pretrained_model_name_or_path"]) or get_first_line(error)
        raise ModelError(f"The tokenizer of {name} cannot be loaded: {reason}") from error
    reject_empty_vocabulary(tokenizer, name)
    return tokenizer


def _build_text_arguments(checkpoint: Checkpoint, cache: Path | None) -> dict[str, str]:
    """Return the arguments of `from_pretrained` for config and tokenizer.

    The config and tokenizer of a GGUF file are extracted once into `cache`.
    """
    original = build_load_arguments(checkpoint)
    if not checkpoint.gguf or cache is None:
        return original
    try:
        extracted = extract_config_files(
            checkpoint.folder / checkpoint.gguf, cache / "gguf" / compute_files_digest(checkpoint.weight_files)
        )
    except (ModelError, UsageError):
        return original  # reading the original file is slower, and raises an error if the file is invalid
    return {"pretrained_model_name_or_path": str(extracted)}


def build_load_arguments(checkpoint: Checkpoint) -> dict[str, str]:
    """Return the arguments with which `from_pretrained` finds the files of a checkpoint."""
    files = {"pretrained_model_name_or_path": str(checkpoint.folder)}
    return {**files, "gguf_file": checkpoint.gguf} if checkpoint.gguf else files
