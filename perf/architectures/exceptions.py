"""Config fields that the rules of `shrinking` do not cover, by model type or by kind and model type."""

from typing import Any

_COMPASS = {"rope_type": "default", "rope_theta": 10000.0}
GIVEN: dict[str, dict[str, Any]] = {
    "neomme": {"head_dim": 16},
    "reformer": {"axial_pos_shape": (16, 32), "axial_pos_embds_dim": (16, 16)},
    "mamba2": {"num_heads": 8, "n_groups": 2},
    "cohere_compass_text": {
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {"sliding_attention": _COMPASS, "full_attention": _COMPASS},
    },
    "gemma3n_text": {
        "num_hidden_layers": 4,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        "num_kv_shared_layers": 2,
        "intermediate_size": 48,
        "activation_sparsity_pattern": [0.5, 0.0, 0.5, 0.0],
    },
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "qwen4_exp_text": {
        "indexer_n_heads": 32,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 8,
        "indexer_budget": 16,
        "indexer_compress_ratio": 4,
        "ple_layer_ids": [1],
    },
    "zamba": {
        "num_hidden_layers": 4,
        "layers_block_type": ["linear_attention", "hybrid", "linear_attention", "hybrid"],
    },
    "bamba": {"attn_layer_indices": [1]},
    "funnel": {"block_sizes": (1, 1, 1)},
    "xmod": {"default_language": "en_XX"},
    "dbrx": {"attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8.0}},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "gemma4_text": {
        "num_hidden_layers": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "num_kv_shared_layers": 2,
    },
    "gemma4_unified_text": {
        "num_hidden_layers": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "num_kv_shared_layers": 2,
    },
    "hrm_text": {"num_layers_per_stack": None},
}
