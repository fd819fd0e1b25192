"""Questions and answers: what benchmarks and models say to each other.

A benchmark turns an item into questions, a model answers them, and the benchmark turns the answers into scores. One
form of question serves masked, causal, encoder-decoder and next-sentence models alike, so that batching,
deduplication, storing and speed are solved once, in `tiltmeter.scoring`.
"""

import enum
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Kind = Literal["masked", "causal", "seq2seq", "next-sentence"]
KINDS: tuple[Kind, ...] = ("masked", "causal", "seq2seq", "next-sentence")


class Want(enum.Enum):
    """What is wanted of each (position, token) pair."""

    LOG_PROB = "log-probability"
    LOG_PROB_AND_TOP = "log-probability, and whether the token is the most probable one"
    LOG_PROB_AND_ATTENTION = "log-probability, and how much attention the position gets (masked models)"
    LOGIT = "logit: enough where only differences at one position count, for it needs no normaliser"

    def __init__(self, meaning: str) -> None:
        # How many numbers answer each pair; a property would be worked out anew for each of many thousand questions.
        self.rows = 2 if meaning.startswith("log-probability, and ") else 1


@dataclass(frozen=True)
class Question:
    """Token ids, and the (position, token) pairs wanted of the distributions read at those positions.

    A position is where the output is read: for a masked model the place of the mask, for a causal model the token
    before the wanted one. `source` is what an encoder-decoder reads (`ids` are then the decoder's). `segments` are
    the token types of a sentence pair. The next-sentence head has one output, read at position 0; token 0 there
    means "is the next sentence".
    """

    ids: tuple[int, ...]
    wanted: tuple[tuple[int, int], ...]
    source: tuple[int, ...] = ()
    segments: tuple[int, ...] = ()
    want: Want = Want.LOG_PROB

    @cached_property
    def digest(self) -> bytes:
        """16 bytes that name this question in the store and fix its place in a plan."""
        # The lengths in front keep the parts apart.
        lengths = (len(self.ids), len(self.source), len(self.segments))
        wanted = chain.from_iterable(self.wanted)
        numbers = array("i", (*lengths, *self.ids, *self.source, *self.segments, *wanted))
        return blake2b(numbers.tobytes() + self.want.name.encode(), digest_size=16).digest()


# One float per wanted pair, and after these, where two things are wanted, one more per pair: with LOG_PROB_AND_TOP 1
# where the token is the most probable one, with LOG_PROB_AND_ATTENTION the mean attention its position gets.
Answer = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text as token ids, and, if they were asked for, the characters each token covers."""

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...] = ()
    segments: tuple[int, ...] = ()


class Text(Protocol):
    """The text side of a model: its tokenizer, and the special tokens that questions are built with.

    A token that the model does not have is None.
    """

    kind: Kind
    start: int | None
    mask: int | None
    mask_text: str
    sentinel: int | None
    sentinel_text: str
    decoder_start: int | None
    pad_text: str
    has_offsets: bool

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
