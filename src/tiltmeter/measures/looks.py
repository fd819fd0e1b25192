"""Looks: repeated tests of one model on growing samples of the same items, and the correction of their p-values.

Whoever tests a sample, enlarges it and tests again has more than one chance of a false claim. Therefore the level of 5%
is divided over the looks. If look number k is at a sample, its level is 5%/(k(k+1)); if it is at all items, and thus
the last one, its level is 5%/k.
The levels of any number of growing samples and of all items have a sum of 5%, so the rate of false claims over all
looks is at most 5%, for any dependence between them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tiltmeter.measures.records import OVERALL, Record, RecordKey


@dataclass(frozen=True, slots=True)
class Look(RecordKey):
    """One test of a model on one part of a benchmark in one language.

    `items` is the number of items in the sample, and `earlier` has the numbers of items of the earlier looks, in their
    order. `is_complete` tells whether the look used all items, so that no larger sample can follow.
    """

    items: int
    earlier: tuple[int, ...] = ()
    is_complete: bool = False

    @property
    def number(self) -> int:
        """The number of this look; the first look has the number 1."""
        return len(self.earlier) + 1

    @property
    def factor(self) -> int:
        """The factor by which the p-values of this look are multiplied.

        >>> names = ("bert", "stereoset", "intrasentence", "en", "published")
        >>> Look(*names, items=100).factor, Look(*names, items=200, earlier=(100,)).factor
        (2, 6)
        >>> Look(*names, items=2106, is_complete=True).factor
        1
        >>> Look(*names, items=2106, earlier=(100, 200), is_complete=True).factor
        3
        """
        return self.number if self.is_complete else self.number * (self.number + 1)


Looks = Mapping[tuple[str, ...], Look]


def index_looks(looks: Iterable[Look]) -> Looks:
    """Return a mapping from (model, benchmark, language, part) to looks.

    Pooled parts get the look with the largest factor of all parts. If every part uses all items, as each template of
    GEST does, there is only one look, with the part "all".
    """
    indexed: dict[tuple[str, ...], Look] = {}
    for look in looks:
        for part in (look.part, OVERALL):
            key = (look.model, look.benchmark, look.language, part)
            if key not in indexed or indexed[key].factor < look.factor:
                indexed[key] = look
    return indexed


def find_look(looks: Looks, record: Record) -> Look | None:
    """Return the look of a record; None if the run has no looks, for example a run that scored predictions."""
    names = (record.model, record.benchmark, record.language)
    return looks.get((*names, record.part)) or looks.get((*names, "all"))
