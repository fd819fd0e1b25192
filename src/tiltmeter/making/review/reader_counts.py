"""How many people have read each item of a test set, by part and bias type."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tiltmeter.forms import Item, get_item_form
from tiltmeter.making.project import Project


@dataclass(frozen=True, slots=True)
class ReaderCounts:
    """The numbers of items of one part and bias type that nobody, one person or several people have read.

    A person has read an item if the person has decided on it. An empty text stands for all parts or bias types.
    """

    part: str
    bias_type: str
    nobody: int
    one: int
    several: int

    @property
    def items(self) -> int:
        """The number of items."""
        return self.nobody + self.one + self.several

    def format_share(self, count: int) -> str:
        """Return a number of items with its share of all items.

        >>> ReaderCounts("", "", 3, 1, 0).format_share(3)
        '3 (75%)'
        """
        return f"{count:,} ({count / self.items:.0%})"


def count_readers(project: Project, items: Iterable[Item]) -> list[ReaderCounts]:
    """Return the counts of all items, and then those of each part and bias type if there are several."""
    readers: defaultdict[str, set[str]] = defaultdict(set)
    for decision in project.store.list_decisions():
        readers[decision.item].add(decision.reviewer)
    groups: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for item in items:
        form = get_item_form(item)
        bias_type = str(form.attributes(item).get("bias_type", ""))
        number = min(2, len(readers[item.id]))
        for key in {("", ""), (form.part_of(item) or "", bias_type)}:
            groups[key][number] += 1
    rows = [ReaderCounts(*key, *(counts[number] for number in (0, 1, 2))) for key, counts in sorted(groups.items())]
    return rows if len(rows) > 2 else rows[:1]
