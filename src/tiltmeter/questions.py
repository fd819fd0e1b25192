"""Questions and answers: the interface between benchmarks and models.

A benchmark turns an item into questions, a model answers them, and the benchmark turns the answers into scores. Masked,
causal, encoder-decoder and next-sentence models use the same type of question (`Question`), so batching, deduplication
and caching are implemented once, in `tiltmeter.engine`. A chat model receives a message with answer options
(`ChatQuestion`) and chooses one of the options.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import chain, compress, count
from operator import ne
from struct import pack
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Kind = Literal["masked", "causal", "seq2seq", "next-sentence"]
Ids = tuple[int, ...]
KINDS: tuple[Kind, ...] = ("masked", "causal", "seq2seq", "next-sentence")


class WantedQuantity(enum.Enum):
    """What a question requests for each (position, token) pair: one number, such as a log-probability, or two."""

    LOG_PROB = "log-probability"
    LOG_PROB_AND_TOP = "log-probability, and whether the token is the most probable one"
    LOG_PROB_AND_ATTENTION = "log-probability, and the mean attention to the position (masked models)"
    LOGIT = "logit, where only differences at one position matter: no softmax normaliser is computed"

    def __init__(self, meaning: str) -> None:
        # `rows` is how many numbers are requested per (position, token) pair. `key` identifies this quantity in the
        # digest of a question. Both are computed once, for speed.
        self.rows = 2 if meaning.startswith("log-probability, and ") else 1
        self.key = self.name.encode()


@dataclass(slots=True)
class Question:
    """The input of a model as token ids, and the (position, token) pairs whose probabilities are requested.

    A position is the index of the token at which the model's output is read. For a masked model, this is the mask. For
    a causal model, it is the token before the requested token. For an encoder-decoder, `source` is the input of the
    encoder and `ids` the input of the decoder. `segments` are the token types of a sentence pair. The output of the
    next-sentence head is read at position 0, where token 0 means "is the next sentence". `digest` (16 bytes) is the key
    of the question in the answer store and in batch plans. Questions must not be changed; the class is not frozen,
    because creating frozen objects takes a third longer.
    """

    ids: Ids
    wanted: tuple[tuple[int, int], ...]
    source: Ids = ()
    segments: tuple[int, ...] = ()
    want: WantedQuantity = WantedQuantity.LOG_PROB
    digest: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ids, source, segments = self.ids, self.source, self.segments
        # The lengths come first, so that two different questions never give the same sequence of numbers.
        numbers = (len(ids), len(source), len(segments), *ids, *source, *segments, *chain.from_iterable(self.wanted))
        self.digest = blake2b(pack(f"{len(numbers)}i", *numbers) + self.want.key, digest_size=16).digest()


# The answer to a question: one number per (position, token) pair. If two numbers are requested per pair, the array
# contains the first numbers of all pairs, then the second numbers of all pairs. For LOG_PROB_AND_TOP, the second number
# is 1 if the token is the most probable one, else 0. For LOG_PROB_AND_ATTENTION, it is the mean attention to the
# position.
Answer = NDArray[np.float32]
# The byte format of stored answers: little-endian float32.
NUMBER = np.dtype("<f4")


class EncodedText(NamedTuple):
    """The token ids of a text. `segments` are the token types of a sentence pair.

    `offsets` are the (start, end) character positions of the tokens; they are empty if they were not requested.
    """

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...] = ()
    segments: tuple[int, ...] = ()


class Tokenizer(Protocol):
    """The tokenizer of a model, with the ids of the special tokens that questions need.

    A special token that the tokenizer lacks is None. `kind` is the kind of language model; `next_sentence` is true if
    the model also answers questions of the kind "next-sentence". `unknown` is the id of the unknown token; it is None
    for tokenizers that can encode any text, such as byte-level tokenizers.
    """

    kind: Kind
    next_sentence: bool
    start: int | None
    mask: int | None
    mask_text: str
    sentinel: int | None
    sentinel_text: str
    decoder_start: int | None
    pad_text: str
    unknown: int | None

    @property
    def digest(self) -> str:
        """SHA-256 of the tokenizer; models with equal digests tokenize identically."""

    @property
    def has_offsets(self) -> bool:
        """Whether `encode` can return the character ranges of tokens, as fast tokenizers do."""

    def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[EncodedText]:
        """Tokenize texts without adding special tokens."""

    def encode_with_special_tokens(self, texts: Sequence[str], *, offsets: bool = False) -> list[EncodedText]:
        """Tokenize texts, and add the special tokens that the model expects around an input."""

    def find_token_words(self, texts: Sequence[str]) -> list[tuple[int | None, ...]]:
        """Return for each text the word index of each of its tokens, as tokenized by `encode_with_special_tokens`.

        Special tokens have None instead of a word index.
        """

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[EncodedText]:
        """Tokenize each sentence pair as one input; add token types if the model uses them."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids."""


class Option(NamedTuple):
    """An answer option of a `Choice`: its role in the item, such as `stereotype`, and its text."""

    role: str
    text: str


# The type of the answer options of a choice: words for a gap (`blank`), next sentences (`follows`), alternative
# sentences (`pair`), speakers (`speaker`), answers to the question at the end of the context (`question`), groups to
# which each word of a list is assigned (`assign`), or genders of the protagonist of a written story (`story`).
Task = Literal["blank", "follows", "pair", "speaker", "question", "assign", "story"]


class Choice(NamedTuple):
    """An item as a choice between answer options, for chat models; `task` determines the wording of the instruction."""

    task: Task
    context: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """Sampling options of a chat model.

    If `probabilities` is true, the model is not asked for a text, but for the probability of each option label, such as
    A or B, as the first token of the reply.
    """

    temperature: float = 0.0
    max_tokens: int = 64
    probabilities: bool = False


@dataclass(frozen=True, slots=True)
class ChatQuestion:
    """A message to a chat model, and the labels of its answer options; `sample` numbers repetitions of a message.

    `schema` is a JSON schema of the wanted reply, or None for a free text. A server that supports schemas enforces it;
    the message must describe the reply too.
    """

    prompt: str
    labels: tuple[str, ...]
    sample: int = 0
    schema: Mapping[str, Any] | None = None

    @property
    def digest(self) -> bytes:
        """The key of this question in the store of replies."""
        return blake2b(f"{self.sample}\n{self.prompt}".encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a chat model.

    `refused` is true if the server marked the reply as a refusal. `first_tokens` are pairs of a possible first token
    and its log-probability. `tokens_in` and `tokens_out` are the numbers of input and output tokens that the server
    reports; None if it reports none. `model` is the model name that the server reports. `cut` is true if the reply
    reached the maximum length. `too_long` is the error message if the server rejected the message as too long,
    otherwise empty; such a reply is not stored. `thinking` is the text that the model wrote before its answer.
    """

    text: str
    refused: bool = False
    first_tokens: tuple[tuple[str, float], ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str = ""
    cut: bool = False
    too_long: str = ""
    thinking: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the reply as a dictionary of JSON values, without `too_long`."""
        return {name: value for name, value in asdict(self).items() if name != "too_long"}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Reply":
        """Create a reply from a dictionary that `to_dict` returned."""
        tokens = tuple((str(token), float(value)) for token, value in fields["first_tokens"])
        return cls(**{**fields, "first_tokens": tokens})


def count_common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the longest common prefix of two sequences.

    >>> count_common_prefix([1, 2, 3], [1, 2, 5, 3])
    2
    """
    # A Python loop would be too slow, because this function is called for every input of a batch plan.
    return next(compress(count(), map(ne, first, second)), min(len(first), len(second)))
