"""The protocol of recipes, which give numbers by key or the reason why there are none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tiltmeter.papers.sources.recipe_context import RecipeContext

# Identifies a number among those of one recipe.
Key = tuple[str, ...]
Numbers = Mapping[Key, float]


class NotAvailable(Exception):  # noqa: N818 - a result, not an error
    """A number cannot be recomputed here; the message says why."""


class Recipe(Protocol):
    """A way to recompute numbers. Equal recipes give equal numbers, so each is run once."""

    @property
    def name(self) -> str:
        """The source: a file, or a model and its benchmark."""
        ...

    def numbers(self, desk: "RecipeContext") -> Numbers:
        """Compute the numbers; NotAvailable if something is missing."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class NumberSource:
    """The recipe of a printed number, and the number's key among those the recipe gives.

    `lacking` says why there is no recipe.
    """

    key: Key
    recipe: Recipe | None = None
    lacking: str = ""
