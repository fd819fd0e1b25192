"""What a model's config and modules say of its inputs: the longest one, the first position, the decoder's start."""

from typing import Any

from torch import nn

# Names of the number of positions in transformers' configs.
_NAMES = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "max_sequence_length",
    "max_seq_length",
    "max_source_positions",
    "max_target_positions",
    "max_context_length",
)


def read_config_positions(config: Any) -> int | None:
    """The largest number of positions that a config names; None if it names none."""
    named = [getattr(part, name, None) for part in (config, config.get_text_config()) for name in _NAMES]
    return max((limit for limit in named if isinstance(limit, int) and limit > 0), default=None)


def find_max_positions(model: nn.Module) -> int | None:
    """The longest input of a model in tokens: by its config, or by its table of positions if that is smaller."""
    limit = read_config_positions(model.config)
    limits = [] if limit is None else [limit - find_first_position(model)]
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding) and "pos" in name and "rel" not in name:
            limits.append(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    return min(limits, default=None)


def read_decoder_start(config: Any) -> int | None:
    """The first token of the decoder's inputs; None if the config does not say.

    T5Gemma has a config for its decoder, whose first token is that of the beginning.
    """
    start = getattr(config, "decoder_start_token_id", None)
    if start is None:
        start = getattr(getattr(config, "decoder", None), "bos_token_id", None)
    return start if isinstance(start, int) else None


def find_first_position(model: nn.Module) -> int:
    """The position id of the first token: 0, or for RoBERTa and similar models the padding index plus 1."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return module.padding_idx + 1
    return 0
