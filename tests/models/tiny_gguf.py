"""A tiny model in a GGUF file."""

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Stored
from tokenizers import pre_tokenizers

WIDTH, LAYERS, HEADS, INNER = 32, 2, 4, 64
# Every byte, so that no text is unknown.
BYTES = ("<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "th")


def write_gguf(
    path: Path,
    tokens: Sequence[str] = BYTES,
    merges: Sequence[str] = ("t h",),
    *,
    positions: int = 64,
    chat_template: str | None = None,
) -> Path:
    """A model in the layout of Llama, with tensors in two quantised formats and in float32."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(positions)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3] + [1] * (len(tokens) - 1))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    if chat_template is not None:
        writer.add_chat_template(chat_template)
    random = np.random.default_rng(0)

    def add(name: str, *shape: int, stored: Stored = Stored.F32) -> None:
        numbers = random.normal(size=shape).astype(np.float32)
        if stored == Stored.F32:
            writer.add_tensor(name, numbers)
        else:
            writer.add_tensor(name, gguf.quants.quantize(numbers, stored), raw_dtype=stored)

    add("token_embd.weight", len(tokens), WIDTH, stored=Stored.Q8_0)
    add("output_norm.weight", WIDTH)
    for layer in range(LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{part}.weight", WIDTH, WIDTH, stored=Stored.Q4_1)
        add(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH, stored=Stored.Q4_1)
        add(f"blk.{layer}.ffn_up.weight", INNER, WIDTH, stored=Stored.Q8_0)
        add(f"blk.{layer}.ffn_down.weight", WIDTH, INNER, stored=Stored.Q8_0)
        add(f"blk.{layer}.attn_norm.weight", WIDTH)
        add(f"blk.{layer}.ffn_norm.weight", WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
