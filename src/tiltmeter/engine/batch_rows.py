"""The rows of tokens in a batch, and the numbers that are requested from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.questions import NUMBER, Answer, Ids, Question


class RowQuestion(NamedTuple):
    """A question that a row answers, and the indices of its tokens in the row."""

    question: Question
    indices: Sequence[int]


@dataclass(slots=True)
class Row:
    """One row of a batch, with one input or with several inputs that an attention mask separates.

    For packed rows, `lengths` are the lengths of the concatenated inputs. For causal models, inputs with a common
    prefix form a prefix tree in depth-first order, which counts as one input. Then `depths` are the positions of the
    tokens in their own inputs, and `ends` are the indices after the last token of each token's subtree; a token is
    visible to the tokens from its own index up to its end.

    For encoder-decoders, `sources` has one source for each input, and `ids` are the decoder's.
    """

    ids: Ids
    sources: tuple[Ids, ...] = ()
    segments: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()
    depths: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    reads: list[RowQuestion] = field(default_factory=list)

    @property
    def has_several(self) -> bool:
        """Whether the row contains several inputs."""
        return bool(self.lengths or self.ends)

    @property
    def questions(self) -> list[bytes]:
        """The digests of the questions that this row answers."""
        return [read.question.digest for read in self.reads]


Batch = list[Row]


@dataclass(frozen=True, slots=True)
class NumberRequests:
    """All requests of a batch as parallel arrays: row, position in the row, token, and `WantedQuantity`."""

    lines: NDArray[np.int64]
    positions: NDArray[np.int64]
    tokens: NDArray[np.int64]
    wants: NDArray[np.object_]

    @classmethod
    def of(cls, batch: Batch) -> "NumberRequests":
        """Return the requests of all rows, in order."""
        reads = [read for row in batch for read in row.reads]
        counts = [len(question.wanted) for question, _ in reads]
        lines = np.repeat(np.arange(len(batch)), [len(row.reads) for row in batch])
        positions = [indices[position] for question, indices in reads for position, _ in question.wanted]
        tokens = [token for question, _ in reads for _, token in question.wanted]
        wants = np.array([question.want for question, _ in reads], dtype=object)
        return cls(
            np.repeat(lines, counts),
            np.array(positions, np.int64),
            np.array(tokens, np.int64),
            np.repeat(wants, counts),
        )

    def among(self, lines: Sequence[int]) -> tuple[NDArray[np.int64], "NumberRequests"]:
        """Return the indices of the requests of some rows, and these requests for a batch of only these rows."""
        new_lines = np.full(self.lines.max() + 1, -1)
        new_lines[list(lines)] = np.arange(len(lines))
        chosen = np.flatnonzero(new_lines[self.lines] >= 0)
        return chosen, NumberRequests(
            new_lines[self.lines[chosen]], self.positions[chosen], self.tokens[chosen], self.wants[chosen]
        )

    def __len__(self) -> int:
        return len(self.tokens)


def split_by_question(batch: Batch, numbers: NDArray[np.float32]) -> dict[bytes, Answer]:
    """Split the numbers of a batch, in the order of its `NumberRequests`, into the answers to its questions."""
    answers: dict[bytes, Answer] = {}
    first, second = (row.astype(NUMBER).tobytes() for row in numbers)
    start = 0
    for row in batch:
        for question, _ in row.reads:
            end = start + 4 * len(question.wanted)
            # A copy, since a view would keep the array of the whole batch in memory.
            own = first[start:end] if question.want.rows == 1 else first[start:end] + second[start:end]
            answers[question.digest] = np.frombuffer(own, NUMBER)
            start = end
    return answers
