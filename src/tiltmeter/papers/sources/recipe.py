"""Recipes: the source of a printed number, and the function that recomputes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tiltmeter.papers.sources.paper_run import PaperRun

# Identifies a number among the numbers that one recipe computes.
Key = tuple[str, ...]
Numbers = Mapping[Key, float]


class NotAvailable(Exception):  # noqa: N818 - a result, not an error
    """A number cannot be recomputed here; the message gives the reason. `file` is the released file that is missing."""

    def __init__(self, reason: str, file: str = "") -> None:
        super().__init__(reason)
        self.file = file


@dataclass(frozen=True, slots=True)
class Recipe:
    """A way to recompute numbers: `compute(context, *arguments)` returns the numbers, or raises NotAvailable.

    `name` is the source: a file, or a model and its benchmark. `runs` are the runs of models whose results the recipe
    reads. `manual_step` says what people must do between the runs and the numbers. Equal recipes are computed once.
    """

    name: str
    compute: Callable[..., Numbers]
    arguments: tuple[Any, ...] = ()
    runs: tuple[PaperRun, ...] = ()
    manual_step: str = ""


def build_run_recipe(run: PaperRun, compute: Callable[..., Numbers], *arguments: Any) -> Recipe:
    """Return the recipe for the numbers of one run: `compute(context, run, *arguments)` reads its results."""
    return Recipe(run.name, compute, (run, *arguments), (run,))


@dataclass(frozen=True, slots=True)
class NumberSource:
    """The recipe that recomputes a printed number, and the key of this number in the result of the recipe.

    If there is no recipe, `lacking` gives the reason.
    """

    key: Key
    recipe: Recipe | None = None
    lacking: str = ""
