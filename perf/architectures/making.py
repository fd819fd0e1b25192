"""Tiny models with large random weights and nonzero padding embeddings, saved in the usual layout."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers import CONFIG_MAPPING

from perf.architectures.catalogue import AUTO_CLASSES, Architecture
from perf.architectures.exceptions import GIVEN
from perf.architectures.shrinking import Sizes, shrink

# Parameters that are decay rates, time steps or frequencies: with other values a model overflows.
_KEPT = ("A_log", "dt_bias", "dt_proj", "time_decay", "time_first", "inv_freq", "rotary")
_EMBEDDING_SPREAD, _GAIN, _NOISE = 0.5, 1.3, 0.2
_MOST_PARAMETERS = 30_000_000
# Texts longer than this use the second set of frequencies of longrope.
_LONGROPE_THRESHOLD = 40
_SPECIAL = ("pad", "bos", "eos", "cls", "sep", "mask", "unk")


@dataclass(frozen=True)
class Variant:
    """A change of the config: the size of windows and chunks, or rotary positions that depend on the length."""

    window: int
    longrope: bool = False

    def __str__(self) -> str:
        return f"longrope from {_LONGROPE_THRESHOLD}" if self.longrope else f"window {self.window}"


# Windows between the sizes of packed rows and of the longest prefix trees are a special situation.
SMALL, MIDDLE, LONGROPE = Variant(8), Variant(90), Variant(90, longrope=True)


def make_config(architecture: Architecture, tokenizer: Any, variant: Variant) -> Any:
    """Return a tiny config for this architecture and tokenizer; None if the variant does not apply to it."""
    config_class = CONFIG_MAPPING[architecture.model_type]
    names = {field.name for field in dataclasses.fields(config_class)}
    given = dict(GIVEN.get(architecture.name, {}))
    if architecture.kind == "causal" and "is_decoder" in names:
        given["is_decoder"] = True
    sizes = Sizes(len(tokenizer), _special_tokens(tokenizer), variant.window)
    config = shrink(config_class, sizes, given)
    if variant.longrope:
        rope = _longrope(config)
        return None if rope is None else shrink(config_class, sizes, {**given, **rope})
    if variant != SMALL:
        small = shrink(config_class, dataclasses.replace(sizes, window=SMALL.window), given)
        return None if small.to_dict() == config.to_dict() else config
    return config


def make_model(architecture: Architecture, config: Any) -> Any:
    """Return the model with random weights, in evaluation mode."""
    if architecture.kind == "next-sentence":  # saved with both heads, as it was trained
        name = architecture.class_name.replace("ForNextSentencePrediction", "ForPreTraining")
        model = getattr(transformers, name)(config)
    else:
        model = AUTO_CLASSES[architecture.kind].from_config(config)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    if parameters > _MOST_PARAMETERS:
        raise ValueError(f"the rules leave it with {parameters:,} parameters")
    _randomize(model)
    return model.eval()


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save a model and its tokenizer in the Hugging Face layout."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _special_tokens(tokenizer: Any) -> dict[str, int | None]:
    """Return the fields of a config for special tokens."""
    found = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in _SPECIAL}
    tokens: dict[str, int | None] = {name: token for name, token in found.items() if token is not None}
    tokens.setdefault("pad_token_id", 0)
    return tokens | {
        "decoder_start_token_id": tokens.get("eos_token_id", tokens["pad_token_id"]),
        "forced_bos_token_id": None,
        "forced_eos_token_id": None,
    }


def _longrope(config: Any) -> dict[str, Any] | None:
    """Return the config fields of longrope; None if the model does not have exactly one type of rotary positions."""
    rope = getattr(config, "rope_parameters", None)
    if not isinstance(rope, dict) or rope.get("rope_type") != "default" or "mrope_section" in rope:
        return None
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    pairs = int(head * rope.get("partial_rotary_factor", 1.0)) // 2
    changed = rope | {
        "rope_type": "longrope",
        "short_factor": [1.0] * pairs,
        "long_factor": [1.0 + 3.0 * pair for pair in range(pairs)],
        "factor": 8.0,
        "original_max_position_embeddings": _LONGROPE_THRESHOLD,
    }
    fields: dict[str, Any] = {"rope_parameters": changed}
    if hasattr(config, "original_max_position_embeddings"):
        fields["original_max_position_embeddings"] = _LONGROPE_THRESHOLD
    return fields


def _randomize(model: nn.Module, seed: int = 1) -> None:
    """Replace the weights, so that outputs differ clearly and no embedding is zero."""
    generator = torch.Generator().manual_seed(seed)

    def draw(like: torch.Tensor, spread: float) -> torch.Tensor:
        return torch.randn(like.shape, generator=generator, dtype=torch.float32).to(like.dtype) * spread

    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if not tensor.is_floating_point() or any(part in name for part in _KEPT):
                continue
            if id(tensor) in embeddings:
                tensor.copy_(draw(tensor, _EMBEDDING_SPREAD))
            elif tensor.dim() > 1:
                tensor.copy_(draw(tensor, _GAIN / tensor.shape[-1] ** 0.5))
            else:
                tensor.add_(draw(tensor, _NOISE))
        for name, tensor in model.named_buffers():
            if name.endswith(("running_mean", "bias")) and tensor.is_floating_point():
                tensor.copy_(draw(tensor, _NOISE))
            elif name.endswith("running_var"):
                tensor.copy_(draw(tensor, _NOISE).abs() + 0.5)
