"""Tiny tokenizers, each with a property that code may wrongly assume away."""

from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

WORDS = ["the", "nurse", "was", "gentle", "gruff", "wooden", "kind", "to", "me", ".", "she", "is", "loud", "a", "very"]


def _reading_all(tokenizer: Tokenizer) -> None:
    """Let a tokenizer read other words as one of its own, by their first letter, and other signs as full stops.

    A run refuses a tokenizer to which most words are unknown.
    """
    known = "|".join([*WORDS, *(f"{word}ly" for word in WORDS), "gen", "tle"]).replace(".|", "")
    groups = {"a-eA-E": "loud", "f-jF-J": "is", "k-oK-O": "wooden", "p-tP-T": "gruff", "u-zU-Z": "very"}
    tokenizer.normalizer = normalizers.Sequence(
        [
            *(
                normalizers.Replace(Regex(rf"\b(?!(?:{known})\b)[{letters}]\w*"), word)
                for letters, word in groups.items()
            ),
            normalizers.Replace(Regex(r"\b[^a-zA-Z\W]\w*"), "me"),
            normalizers.Replace(Regex(r"[^\w\s]+"), "."),
        ]
    )


def word_level(**special: str) -> PreTrainedTokenizerFast:
    """A tokenizer of words and full stops with only these special tokens."""
    vocabulary = {word: i for i, word in enumerate(["<unk>", *special.values(), *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    _reading_all(tokenizer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", **special)


def with_template(tokenizer: PreTrainedTokenizerFast, single: str, *special: str) -> PreTrainedTokenizerFast:
    """Make a tokenizer add special tokens around a text, as in `<s> $A </s>`."""
    backend: Tokenizer = tokenizer.backend_tokenizer
    pairs = [(token, backend.token_to_id(token)) for token in special]
    backend.post_processor = processors.TemplateProcessing(single=single, pair=f"{single} $B", special_tokens=pairs)
    return tokenizer


def byte_level(mask: bool = False) -> PreTrainedTokenizerFast:
    """Byte-level BPE in which `Ġgentle` is one token but `gentle`, without the space, is several."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("n", "t"), ("l", "e"), ("Ġ", "g"), ("Ġg", "e"), ("Ġge", "nt"), ("Ġgent", "le"), ("t", "h"), ("th", "e")]
    vocabulary = {token: i for i, token in enumerate(["<s>", "<mask>", *alphabet, *("".join(m) for m in merges)])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special: dict[str, Any] = {"bos_token": "<s>"}
    if mask:
        # As in RoBERTa, the mask includes the space before it.
        special["mask_token"] = AddedToken("<mask>", lstrip=True)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def word_piece() -> PreTrainedTokenizerFast:
    """WordPiece as in BERT: `gentle` is split into `gen` and `##tle`."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "gen", "##tle", "##ly"]
    pieces.remove("gentle")
    tokenizer = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    _reading_all(tokenizer)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(t, pieces.index(t)) for t in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
