"""Facts about the inputs of a model: maximum length, first position id, and first token of the decoder."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn

# Names of the config entries that contain the maximum length of an input in tokens.
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


def read_config_max_length(config: Any) -> int | None:
    """Return the largest maximum length in tokens that a config contains; None if the config contains none."""
    limits = [getattr(part, name, None) for part in (config, config.get_text_config()) for name in _NAMES]
    return max((limit for limit in limits if isinstance(limit, int) and limit > 0), default=None)


def find_max_positions(model: nn.Module) -> int | None:
    """Return the maximum length of an input in tokens, from config and position embeddings; None if unlimited."""
    limit = read_config_max_length(model.config)
    limits = [] if limit is None else [limit - find_first_position(model)]
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding) and "pos" in name and "rel" not in name:
            limits.append(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    return min(limits, default=None)


def read_decoder_start_token(config: Any) -> int | None:
    """Return the first token id of the decoder's inputs; None if the config does not contain this id.

    T5Gemma has a separate config for its decoder; there, the BOS token is the first token.
    """
    start = getattr(config, "decoder_start_token_id", None)
    if start is None:
        start = getattr(getattr(config, "decoder", None), "bos_token_id", None)
    return start if isinstance(start, int) else None


def find_first_position(model: nn.Module) -> int:
    """Return the position id of the first token: 0, or the padding index plus 1 for RoBERTa and similar models."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return module.padding_idx + 1
    return 0


def list_config_entries(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of all entries of a config, including the entries of nested configs.

    >>> list(list_config_entries({"vocab_size": 50, "decoder": {"bos_token_id": 1}}))
    [('vocab_size', 50), ('decoder', {'bos_token_id': 1}), ('bos_token_id', 1)]
    """
    for name, value in config.items():
        yield str(name), value
        if isinstance(value, Mapping):
            yield from list_config_entries(value)
