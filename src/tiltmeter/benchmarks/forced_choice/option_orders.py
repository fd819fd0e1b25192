"""Which orders of the options are asked: every option equally often in every place, and before every other one.

The cyclic orders of three options balance the places, but put the first option before the second in two orders of
three: a model that takes the first option that makes sense would seem to prefer it. The cycle of the reversed order
puts it after the second as often. The two cycles together are balanced in both respects: of two options they are the
same two orders, of three all six, of four eight of the 24.

    default     two wordings: the first with the cycle, the second with the reversed cycle
    full        all wordings, each with both cycles, without and with a neutral option
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

DEFAULT_WORDINGS = 2

Order = tuple[int, ...]


class Arrangement(NamedTuple):
    """One way to ask about an item: the number of the wording, the option in each place, and the neutral option."""

    wording: int
    order: Order
    neutral: bool


@dataclass(frozen=True, slots=True)
class OptionOrderDesign:
    """The design of a run: the affordable one, or the full one."""

    full: bool = False

    def list_arrangements(self, options: int, wordings: int) -> Iterator[Arrangement]:
        """All ways in which an item is asked. A neutral option has the highest number.

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
    """The cyclic orders.

    >>> list_rotations((0, 1, 2))
    [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    """
    return [order[start:] + order[:start] for start in range(len(order))]
