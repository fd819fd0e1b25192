"""Questions and answers: what benchmarks and models say to each other.

A benchmark turns an item into questions, a model answers them, and the benchmark turns the answers into scores. One
form of question serves masked, causal, encoder-decoder and next-sentence models alike, so that batching,
deduplication, storing and speed are solved once, in `tiltmeter.engine`.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from struct import pack
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Kind = Literal["masked", "causal", "seq2seq", "next-sentence"]
Ids = tuple[int, ...]
KINDS: tuple[Kind, ...] = ("masked", "causal", "seq2seq", "next-sentence")


class Want(enum.Enum):
    """What is wanted of each (position, token) pair."""

    LOG_PROB = "log-probability"
    LOG_PROB_AND_TOP = "log-probability, and whether the token is the most probable one"
    LOG_PROB_AND_ATTENTION = "log-probability, and how much attention the position gets (masked models)"
    LOGIT = "logit: enough where only differences at one position count, for it needs no normaliser"

    def __init__(self, meaning: str) -> None:
        # How many numbers answer each pair, and its part of a question's digest: not worked out anew for each question.
        self.rows = 2 if meaning.startswith("log-probability, and ") else 1
        self.key = self.name.encode()


@dataclass(slots=True)
class Question:
    """Token ids, and the (position, token) pairs wanted of the distributions read at those positions.

    A position is where the output is read: for a masked model the place of the mask, for a causal model the token
    before the wanted one. `source` is what an encoder-decoder reads (`ids` are then the decoder's). `segments` are
    the token types of a sentence pair. The next-sentence head has one output, read at position 0; token 0 there
    means "is the next sentence". `digest` is 16 bytes that name the question in the store and in a plan, so a question
    is not changed once it is made; to freeze it would take a third of the time that it takes to make one.
    """

    ids: Ids
    wanted: tuple[tuple[int, int], ...]
    source: Ids = ()
    segments: tuple[int, ...] = ()
    want: Want = Want.LOG_PROB
    digest: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ids, source, segments = self.ids, self.source, self.segments
        # The lengths in front keep the parts apart.
        numbers = (len(ids), len(source), len(segments), *ids, *source, *segments, *chain.from_iterable(self.wanted))
        self.digest = blake2b(pack(f"{len(numbers)}i", *numbers) + self.want.key, digest_size=16).digest()


# One float per wanted pair, and after these, where two things are wanted, one more per pair: with LOG_PROB_AND_TOP 1
# where the token is the most probable one, with LOG_PROB_AND_ATTENTION the mean attention its position gets.
Answer = NDArray[np.float32]
# How its numbers are written as bytes.
NUMBER = np.dtype("<f4")


class Encoded(NamedTuple):
    """A text as token ids, and, if they were asked for, the characters each token covers."""

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...] = ()
    segments: tuple[int, ...] = ()


class Text(Protocol):
    """The text side of a model: its tokenizer, and the special tokens that questions are built with.

    A token that the model does not have is None. `kind` is the kind of language model; `next_sentence` tells whether it
    can also be asked questions of the kind "next-sentence". `unknown` stands for what the tokenizer does not know; None
    where it knows everything, as one over bytes does.
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
        """SHA-256 of what splits texts into tokens: models with the same one have the same tokens."""

    @property
    def has_offsets(self) -> bool:
        """Whether the tokenizer knows which characters a token stands for."""

    def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Encoded]:
        """The texts alone, without any special token."""

    def encode_whole(self, texts: Sequence[str], *, offsets: bool = False) -> list[Encoded]:
        """The texts with the special tokens the model expects around an input."""

    def words(self, texts: Sequence[str]) -> list[tuple[int | None, ...]]:
        """The number of the word that each token of `encode_whole` belongs to; None for a special token."""

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Encoded]:
        """Two sentences as one input, with token types where the model has them."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some tokens."""


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike.

    >>> common_prefix([1, 2, 3], [1, 2, 5, 3])
    2
    """
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
