"""What every source gives: numbers by their names, or the reason why there are none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tiltmeter.papers.sources.desk import Desk

# What a number is called among those that one recipe gives.
Key = tuple[str, ...]
Numbers = Mapping[Key, float]


class NotAvailable(Exception):  # noqa: N818 - a statement about the material, and no error
    """A number cannot be recomputed here; the sentence says why."""


class Recipe(Protocol):
    """A way to numbers. Equal recipes give equal numbers, so each is followed once."""

    @property
    def name(self) -> str:
        """What is recomputed from: a file, or a model and what it is run on."""
        ...

    def numbers(self, desk: "Desk") -> Numbers:
        """Follow the recipe; NotAvailable if something is lacking."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class NumberSource:
    """Where a printed number comes from: a recipe, and what the number is called among those it gives.

    Where there is no recipe, `lacking` says why.
    """

    key: Key
    recipe: Recipe | None = None
    lacking: str = ""
