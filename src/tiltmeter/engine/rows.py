"""What is sent to a model: rows of tokens, and what is read from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.questions import NUMBER, Answer, Ids, Question


class Read(NamedTuple):
    """A question that a row answers, and where in the row the tokens of its input stand."""

    question: Question
    places: Sequence[int]


@dataclass(slots=True)
class Row:
    """What is sent as one line, and all that is read from it: one input, or several that are kept apart by a mask.

    Where there are several, one after the other, `lengths` tells how many tokens each has; to a model that reads in
    both directions that is enough. For a causal model inputs with a common prefix stand in the row as a tree, depth
    first, and such a tree counts as one input: `depths` tells the place of each token in its own input, and `ends`
    where the tokens end that follow it in any, so that a token is seen by itself and all up to its end.

    An encoder-decoder reads a source for each of these; the tokens are then the decoder's.
    """

    ids: Ids
    sources: tuple[Ids, ...] = ()
    segments: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()
    depths: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    reads: list[Read] = field(default_factory=list)

    @property
    def has_several(self) -> bool:
        """Whether several inputs share this row."""
        return bool(self.lengths or self.ends)

    @property
    def questions(self) -> list[bytes]:
        """The digests of the questions that this row answers."""
        return [read.question.digest for read in self.reads]


Batch = list[Row]


@dataclass(frozen=True, slots=True)
class Asks:
    """All numbers that are wanted of a batch: in which of its lines, where, of which token, and what."""

    lines: NDArray[np.int64]
    positions: NDArray[np.int64]
    tokens: NDArray[np.int64]
    wants: NDArray[np.object_]

    @classmethod
    def of(cls, batch: Batch) -> "Asks":
        """What is asked of the rows, in their order."""
        reads = [read for row in batch for read in row.reads]
        numbers = [len(question.wanted) for question, _ in reads]
        lines = np.repeat(np.arange(len(batch)), [len(row.reads) for row in batch])
        positions = [places[position] for question, places in reads for position, _ in question.wanted]
        tokens = [token for question, _ in reads for _, token in question.wanted]
        wants = np.array([question.want for question, _ in reads], dtype=object)
        return cls(
            np.repeat(lines, numbers),
            np.array(positions, np.int64),
            np.array(tokens, np.int64),
            np.repeat(wants, numbers),
        )

    def among(self, lines: Sequence[int]) -> tuple[NDArray[np.int64], "Asks"]:
        """Those of some lines, by number, and as if these lines, in this order, were a batch."""
        new_lines = np.full(self.lines.max() + 1, -1)
        new_lines[list(lines)] = np.arange(len(lines))
        chosen = np.flatnonzero(new_lines[self.lines] >= 0)
        return chosen, Asks(
            new_lines[self.lines[chosen]], self.positions[chosen], self.tokens[chosen], self.wants[chosen]
        )

    def __len__(self) -> int:
        return len(self.tokens)


def by_question(batch: Batch, numbers: NDArray[np.float32]) -> dict[bytes, Answer]:
    """The numbers of a batch, in the order of its asks, as the answers to its questions."""
    found: dict[bytes, Answer] = {}
    first, second = (row.astype(NUMBER).tobytes() for row in numbers)
    start = 0
    for row in batch:
        for question, _ in row.reads:
            end = start + 4 * len(question.wanted)
            # A few bytes of its own, as the store keeps them: part of an array, it would keep all of that.
            own = first[start:end] if question.want.rows == 1 else first[start:end] + second[start:end]
            found[question.digest] = np.frombuffer(own, NUMBER)
            start = end
    return found
