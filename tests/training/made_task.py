"""A synthetic task that tiny models learn in seconds: a sentence follows if it is about the same topic."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import transformers as t
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

TOPICS = {
    "garden": ["rose", "tulip", "hedge", "lawn", "spade"],
    "kitchen": ["bread", "oven", "spoon", "soup", "plate"],
}
FILLERS = ["the", "a", "is", "near", "with", "old"]
WORDS = [word for words in TOPICS.values() for word in words]
SPECIAL = ["<pad>", "</s>", "<unk>", "<s>", "<mask>", "0", "1", "binary", "classification", ":", "."]
_OF_MASKED = {"bos_token": "<s>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
VOCABULARY = [*SPECIAL, *FILLERS, *WORDS]


def make_pairs(
    folder: Path, pairs: int = 2_000, seed: int = 0, languages: tuple[str, ...] = ("en",), articles: int = 200
) -> Path:
    """Write pairs in the layout of `tiltmeter train pairs`; one article in five is held out."""
    random = np.random.default_rng(seed)
    topics = list(TOPICS)
    rows: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for index in range(pairs):
        topic, label = random.integers(len(topics)), index % 2
        other = topic if label else (topic + random.integers(1, len(topics))) % len(topics)
        article = int(random.integers(articles))
        rows[article % 5 == 0].append(
            {
                "language": languages[index // 2 % len(languages)],
                "article": f"article-{article}",
                "first": sentence(topics[topic], random),
                "second": sentence(topics[other], random),
                "label": label,
                "group": article_number(f"article-{article}"),
            }
        )
    folder.mkdir(parents=True, exist_ok=True)
    texts = [(name, pa.string()) for name in ("language", "article", "first", "second")]
    schema = pa.schema([*texts, ("label", pa.int8()), ("group", pa.int64())])
    pq.write_table(pa.Table.from_pylist(rows[False], schema), folder / "train.parquet")
    pq.write_table(pa.Table.from_pylist(rows[True], schema), folder / "held-out.parquet")
    (folder / "summary.json").write_text(
        json.dumps({"languages": {language: {} for language in languages}, "seed": seed, "warnings": []})
    )
    return folder


def article_number(article: str) -> int:
    """Return a number of 63 bits for the name of an article."""
    return int.from_bytes(blake2b(article.encode(), digest_size=8).digest()) >> 1


def sentence(topic: str, random: np.random.Generator) -> str:
    """Return two to four words of a topic among other words."""
    words = [*random.choice(TOPICS[topic], random.integers(2, 5)), *random.choice(FILLERS, random.integers(1, 4))]
    return " ".join(random.permutation(words)) + " ."


def tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer of words with the special tokens of a kind of model."""
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ids = [(token, VOCABULARY.index(token)) for token in ("<s>", "</s>")]
    if kind == "masked":
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ids
        )
    if kind == "seq2seq":
        backend.post_processor = processors.TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=ids
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="<unk>",
        pad_token="<pad>",
        eos_token="</s>",
        **(_OF_MASKED if kind == "masked" else {}),
    )


_SIZE: dict[str, Any] = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 3,
    "eos_token_id": 1,
}
_WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_T5: dict[str, Any] = {
    "dropout_rate": 0.0,
    "vocab_size": len(VOCABULARY),
    "d_model": 32,
    "d_kv": 16,
    "d_ff": 64,
    "num_layers": 2,
    "num_heads": 2,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
    "eos_token_id": 1,
}
MODELS: dict[str, tuple[str, Any]] = {
    "gpt2": (
        "causal",
        lambda: t.GPT2LMHeadModel(
            t.GPT2Config(
                vocab_size=len(VOCABULARY),
                n_embd=32,
                n_layer=2,
                n_head=2,
                n_positions=64,
                bos_token_id=1,
                eos_token_id=1,
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
            )
        ),
    ),
    "llama": ("causal", lambda: t.LlamaForCausalLM(t.LlamaConfig(**_SIZE, num_key_value_heads=2))),
    "t5": ("seq2seq", lambda: t.T5ForConditionalGeneration(t.T5Config(**_T5))),
    "mt5": ("seq2seq", lambda: t.MT5ForConditionalGeneration(t.MT5Config(**_T5))),
    "roberta": ("masked", lambda: t.RobertaForMaskedLM(t.RobertaConfig(**_SIZE, **_WITHOUT_DROPOUT))),
    "distilbert": (
        "masked",
        lambda: t.DistilBertForMaskedLM(
            t.DistilBertConfig(vocab_size=len(VOCABULARY), dim=32, hidden_dim=64, n_layers=2, n_heads=2)
        ),
    ),
}


def make_model(name: str, folder: Path) -> str:
    """Save a tiny model with random weights, and return the folder."""
    kind, make = MODELS[name]
    torch.manual_seed(1)
    model = make()
    model.save_pretrained(folder)
    tokenizer(kind).save_pretrained(folder)
    return str(folder)
