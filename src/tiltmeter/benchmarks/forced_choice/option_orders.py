"""The orders in which options are shown.

The orders are balanced in two respects: each option is equally often in each place, and each option is equally often
before and after each other option. The cyclic orders of three options balance the places, but show the first option
before the second option in two of three orders. A model that takes the first plausible option would then seem to prefer
the first option. Therefore the cyclic orders of the reversed list are also used. For two options, both lists give the
same two orders; for three options, they give all six orders; for four options, eight of the 24 orders.

    default     two wordings: the first with the cyclic orders of the list, the second with those of the reversed list
    full        all wordings, each with the cyclic orders of both lists, without and with a neutral option
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

DEFAULT_WORDINGS = 2

Order = tuple[int, ...]


class Arrangement(NamedTuple):
    """One way to ask about an item.

    It consists of the index of the wording, the index of the option in each place, and whether one option is neutral.
    """

    wording: int
    order: Order
    neutral: bool


@dataclass(frozen=True, slots=True)
class OptionOrderDesign:
    """The set of arrangements in which a run asks about items: the default set or the full set."""

    full: bool = False

    def list_arrangements(self, options: int, wordings: int) -> Iterator[Arrangement]:
        """Yield all arrangements for an item with `options` options and a prompt with `wordings` wordings.

        If a neutral option is added, it has the highest index.

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
    """Return all rotations (cyclic orders) of an order.

    >>> list_rotations((0, 1, 2))
    [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    """
    return [order[start:] + order[:start] for start in range(len(order))]
