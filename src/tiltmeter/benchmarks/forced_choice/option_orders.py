"""The orders in which options are shown: each option equally often in each place, and before each other option.

The cyclic orders of three options balance the places, but show the first option before the second in two of three
orders. A model that takes the first option that makes sense would then seem to prefer it. The cycle of the reversed
order compensates for this. Both cycles together are balanced in both respects: for two options they are the same two
orders, for three all six, for four eight of the 24.

    default     two wordings: the first with the cycle, the second with the reversed cycle
    full        all wordings, each with both cycles, without and with a neutral option
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

DEFAULT_WORDINGS = 2

Order = tuple[int, ...]


class Arrangement(NamedTuple):
    """One way to ask about an item: index of the wording, option in each place, with or without neutral option."""

    wording: int
    order: Order
    neutral: bool


@dataclass(frozen=True, slots=True)
class OptionOrderDesign:
    """The set of arrangements of a run: the default one, or the full one."""

    full: bool = False

    def list_arrangements(self, options: int, wordings: int) -> Iterator[Arrangement]:
        """Yield all arrangements in which an item is asked. A neutral option has the highest number.

        >>> [arrangement.order for arrangement in OptionOrderDesign().list_arrangements(2, 3)]
        [(0, 1), (1, 0), (1, 0), (0, 1)]
        """
        for neutral in (False, True) if self.full else (False,):
            for wording in range(wordings if self.full else min(wordings, DEFAULT_WORDINGS)):
                for order in self._list_orders(options + neutral, wording):
                    yield Arrangement(wording, order, neutral)

    def _list_orders(self, options: int, wording: int) -> list[Order]:
        forward = tuple(range(options))
        if self.full:
            return list(dict.fromkeys([*list_rotations(forward), *list_rotations(forward[::-1])]))
        return list_rotations(forward if wording % 2 == 0 else forward[::-1])


def list_rotations(order: Order) -> list[Order]:
    """Return the cyclic orders.

    >>> list_rotations((0, 1, 2))
    [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    """
    return [order[start:] + order[:start] for start in range(len(order))]
