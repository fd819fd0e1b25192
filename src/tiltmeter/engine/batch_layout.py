"""The ways to arrange inputs in rows and batches that a loaded model supports."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from tiltmeter.engine.row_groups import group_equal_lengths, group_similar_lengths


@dataclass(frozen=True, slots=True)
class BatchLayout:
    """The ways to put inputs into rows and batches in which each input gets the same answers as alone in a batch.

    `pack` is the width in tokens of packed rows (rows of several inputs); 0 means that each input has its own row.
    `shares_prefixes`: inputs with a common prefix may share a row. `pads`: rows of different lengths may share a batch.
    `batches`: several rows may share a batch. `truncates`: causal inputs and decoder targets may end at the last
    position that is read. `longest` is the maximum length for which padding and batches were checked; longer rows are
    computed alone. 0 means no maximum.
    """

    pack: int = 0
    shares_prefixes: bool = False
    pads: bool = True
    batches: bool = True
    truncates: bool = True
    longest: int = 0

    @classmethod
    def combine(cls, layouts: Iterable[Self]) -> Self:
        """Return a layout that uses a feature, such as padding, only if all of the given layouts use it.

        >>> BatchLayout.combine([BatchLayout(pack=64, longest=192), BatchLayout(pack=128, longest=1024, pads=False)])
        BatchLayout(pack=64, shares_prefixes=False, pads=False, batches=True, truncates=True, longest=192)
        """
        every = list(layouts)
        return cls(
            pack=min(layout.pack for layout in every),
            shares_prefixes=all(layout.shares_prefixes for layout in every),
            pads=all(layout.pads for layout in every),
            batches=all(layout.batches for layout in every),
            truncates=all(layout.truncates for layout in every),
            longest=min((layout.longest for layout in every if layout.longest), default=0),
        )

    def divide_into_batches(
        self, lengths: Sequence[int], batch_tokens: int, sources: Sequence[int] | None = None
    ) -> list[list[int]]:
        """Divide rows into batches of at most `batch_tokens` tokens, and return the row indices of each batch.

        `lengths` are the lengths of the rows. For an encoder-decoder, `sources` are the lengths of the sources of the
        rows, which are padded too.

        >>> BatchLayout(longest=8).divide_into_batches([2, 5, 9, 2, 5], 20)
        [[2], [1, 4], [0, 3]]
        >>> BatchLayout(pads=False).divide_into_batches([2, 5, 9, 2, 5], 20)
        [[2], [1, 4], [0, 3]]
        """
        if not self.batches:
            return [[index] for index in range(len(lengths))]
        sides = list(zip(lengths, sources, strict=True)) if sources else [(length,) for length in lengths]
        limit = self.longest or max(map(max, sides), default=0)
        alone = [[index] for index, side in enumerate(sides) if max(side) > limit]
        together = [index for index, side in enumerate(sides) if max(side) <= limit]
        if self.pads:
            divided = group_similar_lengths([lengths[index] for index in together], batch_tokens)
        else:
            divided = group_equal_lengths([sides[index] for index in together], batch_tokens)
        return alone + [[together[index] for index in indices] for indices in divided]
