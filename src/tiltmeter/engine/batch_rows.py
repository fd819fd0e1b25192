"""The rows of tokens in a batch, and the numbers that are requested from the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.questions import NUMBER, Answer, Ids, Question


class RowQuestion(NamedTuple):
    """A question that is answered by a row, and the index in the row of each token of the question."""

    question: Question
    indices: Sequence[int]


@dataclass(slots=True)
class Row:
    """One row of a batch. It contains one input, or several inputs that an attention mask separates.

    In packed rows, `lengths` are the lengths of the concatenated inputs. In a causal model, inputs with a common prefix
    form a prefix tree in depth-first order, and the tree counts as one input. Then `depths` are the positions of the
    tokens in their own inputs, and `ends` are the indices after the last token of each token's subtree. The tokens of
    the subtree, with indices from i to before `ends[i]`, attend to token i.

    In an encoder-decoder, `sources` has one source for each input, and `ids` are the token ids of the decoder.
    """

    ids: Ids
    sources: tuple[Ids, ...] = ()
    segments: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()
    depths: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    reads: list[RowQuestion] = field(default_factory=list)

    @property
    def has_several_inputs(self) -> bool:
        """Whether the row contains more than one input."""
        return bool(self.lengths or self.ends)

    @property
    def questions(self) -> list[bytes]:
        """The digests of the questions that this row answers."""
        return [read.question.digest for read in self.reads]


Batch = list[Row]


@dataclass(frozen=True, slots=True)
class NumberRequests:
    """The requests of all questions of a batch, as arrays of equal length with one entry for each requested token.

    The arrays contain the index of the row, the position in the row, the token id, and the `WantedQuantity`.
    """

    lines: NDArray[np.int64]
    positions: NDArray[np.int64]
    tokens: NDArray[np.int64]
    wants: NDArray[np.object_]

    @classmethod
    def from_batch(cls, batch: Batch) -> "NumberRequests":
        """Return the requests of all questions of a batch, in the order of its rows."""
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

    def select_rows(self, lines: Sequence[int]) -> tuple[NDArray[np.int64], "NumberRequests"]:
        """Select the requests for the rows `lines`; return the indices of these requests, and the requests themselves.

        In the returned requests, the rows are numbered as in a batch that contains only the rows `lines`.
        """
        new_lines = np.full(self.lines.max() + 1, -1)
        new_lines[list(lines)] = np.arange(len(lines))
        chosen = np.flatnonzero(new_lines[self.lines] >= 0)
        return chosen, NumberRequests(
            new_lines[self.lines[chosen]], self.positions[chosen], self.tokens[chosen], self.wants[chosen]
        )

    def __len__(self) -> int:
        return len(self.tokens)


def split_by_question(batch: Batch, numbers: NDArray[np.float32]) -> dict[bytes, Answer]:
    """Split the numbers of a batch into answers; return a dictionary from question digests to answers.

    The numbers must be in the order of the `NumberRequests` of the batch.
    """
    answers: dict[bytes, Answer] = {}
    first, second = (row.astype(NUMBER).tobytes() for row in numbers)
    start = 0
    for row in batch:
        for question, _ in row.reads:
            end = start + 4 * len(question.wanted)
            # This makes a copy, because a view would keep the array of the whole batch in memory.
            own = first[start:end] if question.want.rows == 1 else first[start:end] + second[start:end]
            answers[question.digest] = np.frombuffer(own, NUMBER)
            start = end
    return answers
