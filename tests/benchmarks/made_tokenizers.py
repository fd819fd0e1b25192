"""Tiny tokenizers with a given vocabulary, for the tests of benchmarks."""

from collections.abc import Sequence

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast


def build_tokenizer(
    pieces: Sequence[str], single: str = "[CLS] $A [SEP]", *, whole_words: bool = False, **special: object
) -> PreTrainedTokenizerFast:
    """Return a WordPiece tokenizer, or one of whole words; `single` is its template of special tokens."""
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    model = models.WordLevel if whole_words else models.WordPiece
    backend = Tokenizer(model(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace() if whole_words else pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single=single, pair=f"{single} $B", special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")]
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", mask_token="[MASK]", **special)
