"""Tiny models of many architectures, with random weights of a large variance so that their outputs differ clearly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers as t

VOCABULARY = 50
_SMALL: dict[str, Any] = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
_BERT = {**_SMALL, "intermediate_size": 24, "max_position_embeddings": 64}
_LLAMA = {**_BERT, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_T5 = {"vocab_size": VOCABULARY, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}

MASKED: dict[str, Callable[[], Any]] = {
    "bert": lambda: t.BertForMaskedLM(t.BertConfig(**_BERT)),
    "roberta": lambda: t.RobertaForMaskedLM(t.RobertaConfig(**_BERT)),
    "xlm-roberta": lambda: t.XLMRobertaForMaskedLM(t.XLMRobertaConfig(**_BERT, pad_token_id=0)),
    "distilbert": lambda: t.DistilBertForMaskedLM(
        t.DistilBertConfig(vocab_size=VOCABULARY, dim=16, hidden_dim=24, n_layers=2, n_heads=2)
    ),
    "electra": lambda: t.ElectraForMaskedLM(t.ElectraConfig(**_BERT, embedding_size=12)),
    "albert": lambda: t.AlbertForMaskedLM(t.AlbertConfig(**_BERT, embedding_size=12)),
    "modernbert": lambda: t.ModernBertForMaskedLM(
        t.ModernBertConfig(**_BERT, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
    ),
    "deberta-v2": lambda: t.DebertaV2ForMaskedLM(t.DebertaV2Config(**_BERT)),
}
CAUSAL: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: t.GPT2LMHeadModel(
        t.GPT2Config(vocab_size=VOCABULARY, n_embd=16, n_layer=2, n_head=2, n_positions=64)
    ),
    "gpt-neox": lambda: t.GPTNeoXForCausalLM(t.GPTNeoXConfig(**_BERT)),
    "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**_LLAMA)),
    "qwen3": lambda: t.Qwen3ForCausalLM(t.Qwen3Config(**_LLAMA)),
    "gemma2": lambda: t.Gemma2ForCausalLM(t.Gemma2Config(**_LLAMA)),  # caps its logits
    "bloom": lambda: t.BloomForCausalLM(t.BloomConfig(vocab_size=VOCABULARY, hidden_size=16, n_layer=2, n_head=2)),
    "opt": lambda: t.OPTForCausalLM(
        t.OPTConfig(
            vocab_size=VOCABULARY,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            ffn_dim=24,
            word_embed_proj_dim=16,
            max_position_embeddings=64,
        )
    ),
}
SEQ2SEQ: dict[str, Callable[[], Any]] = {
    "t5": lambda: t.T5ForConditionalGeneration(t.T5Config(**_T5, decoder_start_token_id=0)),
    "mt5": lambda: t.MT5ForConditionalGeneration(t.MT5Config(**_T5, decoder_start_token_id=0)),
    "bart": lambda: t.BartForConditionalGeneration(
        t.BartConfig(
            vocab_size=VOCABULARY,
            d_model=16,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=24,
            decoder_ffn_dim=24,
            max_position_embeddings=64,
        )
    ),
}


def made(make: Callable[[], Any], seed: int = 1) -> Any:
    """The model in evaluation mode, with random weights that make its distributions far from uniform."""
    torch.manual_seed(seed)
    model = make().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.25)
    return model


def saved(folder: Path, model: Any, tokenizer: Any) -> str:
    """Save a model with its tokenizer; returns the folder."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
