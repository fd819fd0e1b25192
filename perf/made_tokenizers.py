"""Tokenizers trained on the items, with vocabularies padded to the size of real ones.

A vocabulary of real size that is trained on a few thousand sentences would contain every word as one token. Real
tokenizers have about 1.3 tokens per word, so the trained part is small enough for the same ratio. The other entries
never occur, but have the same cost.
"""

import json
import random
from collections.abc import Callable, Sequence

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TOKENS_PER_WORD = 1.3
_NEAR_ENOUGH = 0.05
_MOST_SENTENCES = 60_000
_SMALLEST, _ROUNDS = 1000, 6
_SENTINELS = [f"<extra_id_{number}>" for number in range(100)]


def word_piece(texts: Sequence[str], size: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer like that of BERT (cased)."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

    def train(sentences: Sequence[str], trained: int) -> Tokenizer:
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=trained, special_tokens=special, show_progress=False)
        tokenizer.train_from_iterator(sentences, trainer)
        return tokenizer

    tokenizer = _filled(_fitted(train, texts, size), size)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def byte_level(texts: Sequence[str], size: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer like that of GPT-2."""
    end = "<|endoftext|>"

    def train(sentences: Sequence[str], trained: int) -> Tokenizer:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=trained,
            special_tokens=[end],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(sentences, trainer)
        return tokenizer

    tokenizer = _filled(_fitted(train, texts, size), size)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=end, eos_token=end, unk_token=end)


def unigram(texts: Sequence[str], size: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer like that of T5, with a hundred sentinels after `size` pieces."""

    def train(sentences: Sequence[str], trained: int) -> Tokenizer:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=trained,
            special_tokens=["<pad>", "</s>", "<unk>"],
            unk_token="<unk>",
            show_progress=False,
        )
        tokenizer.train_from_iterator(sentences, trainer)
        return tokenizer

    tokenizer = _filled(_fitted(train, texts, size), size)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        extra_special_tokens=_SENTINELS,
    )


def tokens_per_word(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """Return the number of tokens per whitespace-separated word."""
    tokens = sum(len(encoded.ids) for encoded in tokenizer.encode_batch(list(texts), add_special_tokens=False))
    return tokens / sum(len(text.split()) for text in texts)


def _fitted(train: Callable[[Sequence[str], int], Tokenizer], texts: Sequence[str], size: int) -> Tokenizer:
    """Train a tokenizer with the vocabulary size that is closest to `TOKENS_PER_WORD`, by bisection."""
    sentences = random.Random(0).sample(texts, min(len(texts), _MOST_SENTENCES))
    low, high = _SMALLEST, size
    tried: dict[float, Tokenizer] = {}
    for _ in range(_ROUNDS):
        trained = round((low * high) ** 0.5)  # bisection on a logarithmic scale
        tokenizer = train(sentences, trained)
        reached = tokens_per_word(tokenizer, sentences)
        tried[abs(reached - TOKENS_PER_WORD)] = tokenizer
        if abs(reached - TOKENS_PER_WORD) < _NEAR_ENOUGH:
            break
        low, high = (trained, high) if reached > TOKENS_PER_WORD else (low, trained)
    return tried[min(tried)]


def _filled(tokenizer: Tokenizer, size: int) -> Tokenizer:
    """Add unused entries up to `size`."""
    description = json.loads(tokenizer.to_str())
    vocabulary = description["model"]["vocab"]
    unused = [f"[unused{number}]" for number in range(size - len(vocabulary))]
    if isinstance(vocabulary, dict):
        vocabulary.update(zip(unused, range(len(vocabulary), size), strict=True))
    else:  # a unigram model has a list of pieces with their log-probabilities
        lowest = min(score for _, score in vocabulary)
        vocabulary.extend([piece, lowest - 1] for piece in unused)
    return Tokenizer.from_str(json.dumps(description))
