"""Tiny configs of all model types, by rules for the names of config fields."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from perf.architectures.exceptions import GIVEN

HIDDEN, HEADS, HEAD_DIM, KEY_VALUE_HEADS = 32, 4, 8, 2
LONGEST = 512
# Special values of rules: the field keeps its default, or gets the size of the tokenizer or the window.
KEEP, VOCABULARY, WINDOW = 0, -1, -2

# The first rule whose pattern matches the whole name of a field determines its value. Fields without a rule, fields
# whose default is 0, None or not an integer, and fields with a smaller default keep their default.
_RULES: tuple[tuple[str, int], ...] = (
    (r".*_id|.*_index|(task_)?type_vocab_size|pretraining_tp|seed|(.*_)?num_buckets|chunk_size_.*", KEEP),
    (r"(entity|pronunciation|shape|t2u|char|unit_hifi_gan)_vocab_size|encoder_hash_byte_group_vocab", 64),
    (r"ngram_vocab_size_base", 64),
    (r"split_ngram_parts|make_ngram_vocab_size_divisible_by", 2),
    (r"(.*_)?vocab_size(_per_layer_input)?", VOCABULARY),
    # Lengths, windows, chunks and thresholds
    (r"max_2d_position_embeddings|(left|right)_max_position_embeddings", KEEP),
    (r"(.*_)?max_(.*_)?position(s|_embeddings)|n_positions|n_ctx|max_seq_len|context_length", LONGEST),
    (r"sliding_window(_size)?|attention_window(_size)?|window_size|keep_window_size|local_attention", WINDOW),
    (r"attention_chunk_size|local_radius|expert_capacity|index_topk|floor_scale|rel_extent|block_size", WINDOW),
    (r"(mamba_)?chunk_size|index_block_size|(local|lsh)_attn_chunk_length|global_block_size", WINDOW),
    (r"relative_attention_max_distance|relative_max_distance|position_bias_max_distance", 64),
    # Layers
    (r"num_mtp_layers|num_nextn_predict_layers", KEEP),
    (r"max_window_layers|first_k_dense_replace|num_dense_layers|moe_layer_start_index|num_kv_shared_layers", 1),
    (r"num_sparse_(encoder|decoder)_layers|.*_layer_offset", 1),
    (r"sliding_window_pattern|global_attn_every_n_layers|.*_layer_period|.*_sparse_step|layer_group_size", 2),
    (r"no_rope_layer_interval|interleave_moe_layer_step|rescale_every|num_self_attends_per_block", 2),
    (r"moe_layer_end_index", 3),
    (r"(.*_)?(num_)?(hidden_|encoder_|decoder_|adapter_)?layers?(_per_stack)?|n_layers?|num_blocks", 2),
    # Experts
    (r"n_group|topk_group|n_shared_experts|(moe_)?num_shared_experts", 1),
    (r"num_experts_per_tok|moe_topk|moe_k|top_k_experts|zero_expert_num", 2),
    (r"(moe_)?num_(local_)?experts|n_routed_experts", 4),
    # Widths
    (r"qk_rope_head_dim|rotary_dim", 4),
    (r"(.*_)?head_dim|dim_head|d_head|d_kv|kv_channels|attention_head_size|mamba_d_head", HEAD_DIM),
    (r"num_key_value_heads|num_kv_heads|swa_num_key_value_heads", KEY_VALUE_HEADS),
    # With few heads, tokens have equal scores, and their selection depends on the length of the row.
    (r"index_n_heads|indexer_n_heads", 32),
    (r"mamba_n_heads|mamba_num_heads|n_mamba_heads", 2 * HEADS),
    (r"(.*_)?(num_)?(attention_)?heads?|n_heads?|heads_per_ngram|linear_num_(key|value)_heads", HEADS),
    (r"(.*_)?rank|time_step_rank|hc_lowrank|(.*_)?(state_size|d_state)|num_latents", 8),
    (r"query_pre_attn_scalar|dim_model_base", 8),
    (r"(moe|shared_expert|shared|moe_shared_expert)_intermediate_size|expert_ffn_hidden_size", 24),
    (r"(.*_)?(intermediate_size|ffn_dim|d_ff|dff|dim_ff|ffn_hidden_size|feed_forward_size|d_inner)(_mlp)?", 48),
    (r"n_inner|hidden_dim", 48),
    (r"hidden_size_per_layer_input|router_hidden_size|intra_bottleneck_size|ple_embed_dim|prompt_mid_dim", 16),
    (r"mamba_d_ssm", 2 * HIDDEN),
    (r"(.*_)?(hidden_size|d_model|n_embd|emb_dim|embed_dim|embedding_size|embedding_dim|emb_size)|dim", HIDDEN),
    (r"word_embed_proj_dim|lru_width|d_latents|prediction_head_size", HIDDEN),
)
_PATTERNS = tuple((re.compile(pattern), value) for pattern, value in _RULES)
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
# Fields without a default that some models need.
_REQUIRED = (
    "vocab_size",
    "num_key_value_heads",
    "head_dim",
    "n_routed_experts",
    "n_shared_experts",
    "num_experts_per_tok",
    "first_k_dense_replace",
)


@dataclass(frozen=True)
class Sizes:
    """The sizes of a tiny config: vocabulary size, special tokens, and the size of windows and chunks."""

    vocabulary: int
    special: Mapping[str, int | None]
    window: int


def shrink(config_class: Any, sizes: Sizes, given: Mapping[str, Any]) -> Any:
    """Return a tiny config of this class; `given` are fields that the rules do not cover."""
    default = config_class()
    values = dict(_shrunk_fields(default, sizes))
    _shorten_lists(values)
    return config_class(**{**values, **GIVEN.get(default.model_type, {}), **given})


def _shrunk_fields(default: Any, sizes: Sizes) -> Iterator[tuple[str, Any]]:
    layers = next((getattr(default, name) for name in _LAYERS if hasattr(default, name)), None)
    for field in dataclasses.fields(default):
        name = field.name
        try:
            value = getattr(default, name)
        except Exception:  # a field with a different value in each layer
            continue
        if name in sizes.special:
            yield name, sizes.special[name]
        elif hasattr(value, "to_dict"):
            yield name, shrink(type(value), sizes, {}).to_dict()
        elif name == "sliding_window" and value is None:
            yield name, sizes.window
        elif name == "use_sliding_window":
            yield name, True
        elif isinstance(value, list | tuple) and len(value) == layers and all(isinstance(v, str) for v in value):
            yield name, list(value)
        elif (number := _shrunk_number(name, value, default, sizes)) is not None:
            yield name, number


def _shrunk_number(name: str, value: Any, default: Any, sizes: Sizes) -> int | None:
    """Return the value of a number by the rules; None if it keeps its default."""
    if name in _REQUIRED and value is None:
        value = sizes.vocabulary
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        return None
    rule = next((rule for pattern, rule in _PATTERNS if pattern.fullmatch(name)), KEEP)
    if name == "num_key_value_heads" and value == getattr(default, "num_attention_heads", None):
        rule = HEADS
    if rule == KEEP:
        return None
    if rule in (VOCABULARY, WINDOW):
        return sizes.vocabulary if rule == VOCABULARY else sizes.window
    return rule if rule == LONGEST else min(rule, value)


def _shorten_lists(values: dict[str, Any]) -> None:
    """Shorten lists of layer types to one layer of each combination, at least two."""
    lists = {name: value for name, value in values.items() if isinstance(value, list)}
    if not lists:
        return
    kinds = list(dict.fromkeys(zip(*lists.values(), strict=True)))
    if len(kinds) == 1:
        kinds *= 2
    for index, name in enumerate(lists):
        values[name] = [kind[index] for kind in kinds]
    values.update({name: len(kinds) for name in _LAYERS if name in values})
