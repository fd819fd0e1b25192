"""Open a model in files, or a trained next-sentence head with its base model, by name."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

import torch

from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.speedups import validate_speedup_names
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.checkpoint_model import build_load_arguments, load_tokenizer, open_model, read_config
from tiltmeter.models.device_placement import find_device, find_dtype
from tiltmeter.models.local_model import LocalModel
from tiltmeter.models.next_sentence_model import NextSentenceModel, find_head
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.options import ModelOptions
from tiltmeter.questions import Kind

# Options of `open_model` that cannot be used with a trained next-sentence head.
_UNSUPPORTED_WITH_HEAD = ("quantize", "split", "max_memory", "tokenizer")


@silence_transformers()
def open_local_model(name: str, **options: Any) -> LocalModel:
    """Open a model in files, or a trained next-sentence head with its base model; for `options` see `open_model`."""
    trusted = bool(options.get("trust_remote_code"))
    found = find_head(name, trust_remote_code=trusted)
    if found is None:
        return open_model(name, **options, load_workers=build_device_loaders)
    checkpoint, head, base = found
    if rejected := [f"--{option.replace('_', '-')}" for option in _UNSUPPORTED_WITH_HEAD if options.get(option)]:
        raise UsageError(f"{name} is a next-sentence head, which does not support {' or '.join(rejected)}; omit it.")
    if options.get("kind") not in (None, head.kind):
        raise ModelError(
            f"{name} is a next-sentence head of a {head.kind} model, which cannot be used as {options['kind']}; omit "
            "--kind."
        )
    files = build_load_arguments(checkpoint)
    config = read_config(name, trusted, files)
    devices = tuple(options.get("devices", ()))
    device = find_device(devices[0] if devices else options.get("device", "auto"))
    dtype = find_dtype(options.get("dtype", "auto"), device, config)
    shared = {"kind": head.kind, "device": str(device), "dtype": str(dtype).removeprefix("torch.")}
    return NextSentenceModel(
        name=name,
        checkpoint=checkpoint,
        head=head,
        open_base=partial(open_model, base, **{**options, **shared}, load_workers=build_device_loaders),
        config=config,
        tokenizer=load_tokenizer(name, trusted, files),
        kind=head.kind,
        has_next_sentence_head=True,
        device=device,
        dtype=dtype,
        batch_tokens=options.get("batch_tokens"),
        devices=devices,
        trust_remote_code=trusted,
        without=validate_speedup_names(options.get("without", ())),
        load_workers=build_device_loaders,
    )


def open_with_options(name: str, options: ModelOptions, *, without: Collection[str]) -> LocalModel:
    """Open a model with the fields of `options` that `open_model` accepts; disable the speed-ups in `without`."""
    taken = [parameter for parameter in signature(open_model).parameters if hasattr(options, parameter)]
    return open_local_model(name, **{option: getattr(options, option) for option in taken}, without=without)


def load_answerer(name: str, kind: Kind, *, threads: int | None = None, **options: Any) -> Answerer:
    """Load a model with the head for this kind of question, in a worker process; for `options` see `open_local_model`.

    `threads` is the maximum number of threads; it must be given if several worker processes share one CPU.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    return open_local_model(name, **options).get_answerer(kind)


def build_device_loaders(
    name: str, options: Mapping[str, Any], kind: Kind, devices: Sequence[str]
) -> list[Callable[[], Answerer]]:
    """Return one function for each device; a worker process calls this function to load the model."""
    on_cpu = sum(device == "cpu" for device in devices)
    threads = max(1, torch.get_num_threads() // on_cpu) if on_cpu else None
    return [
        partial(load_answerer, name, kind, threads=threads if device == "cpu" else None, device=device, **options)
        for device in devices
    ]
