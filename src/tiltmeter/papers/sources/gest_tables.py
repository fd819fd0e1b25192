"""The recipes for the numbers of GEST's tables."""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from io import StringIO

from tiltmeter.papers.printed import CellKey, paper, printed
from tiltmeter.papers.sources import gest_scores, gest_translations
from tiltmeter.papers.sources.desk import Desk
from tiltmeter.papers.sources.recipe import Numbers, NumberSource, Recipe

# Table 3 has means over the rows of these tables.
GROUPS = {"MT systems": "8", "English MLMs": "9", "English GLMs": "10", "Slavic MLMs": "11"}
_NO_RUN = "Translation systems are not run; their released translations are read without --from-models."


def find(table: str, cell: CellKey, kind: str, *, from_models: bool) -> NumberSource:
    """The source of the number in a cell of a table."""
    if table == "3":
        return _find_mean(cell, from_models)
    name = names()[table, cell["system"]]
    if table == "7":
        return NumberSource(("pairs", cell["system"], cell["language"]), gest_scores.PairCounts())
    recipe = _recipe(table, name, cell, from_models)
    if table in ("6", "8"):
        key = ("yield", "all", "value") if table == "6" else ("p_i", cell["stereotype"], kind)
        return NumberSource(key, recipe, "" if recipe else _NO_RUN)
    return NumberSource(("q_i", cell["stereotype"], kind), recipe)


def _recipe(table: str, name: str, cell: CellKey, from_models: bool) -> Recipe | None:
    if table in ("6", "8"):
        return None if from_models else gest_translations.ReleasedTranslations(name, cell["language"])
    if table == "11":
        make: Callable[[str, str], Recipe] = gest_scores.RunOnPairs if from_models else gest_scores.ReleasedPairs
        return make(name, cell["language"])
    of_template = partial(gest_scores.GestRun if from_models else gest_scores.ReleasedGestScores, table, name)
    return of_template(cell["template"])


def _find_mean(cell: CellKey, from_models: bool) -> NumberSource:
    table = GROUPS[cell["system"]]
    rate = cell["quantity"].replace("p/q", "p" if table == "8" else "q")
    if table == "8" and from_models:
        return NumberSource((rate,), lacking=_NO_RUN)
    return NumberSource((rate,), Means(table, from_models))


@dataclass(frozen=True, slots=True)
class Means:
    """The means of the rates over all rows of a table; available only if all rows are."""

    table: str
    from_models: bool

    @property
    def name(self) -> str:
        """The rows averaged."""
        return f"all rows of Table {self.table}"

    def numbers(self, desk: Desk) -> Numbers:
        """The means of the rates about men, about women and about family."""
        rows = {
            recipe: None
            for number in printed(paper("gest2024"))
            if number.table == self.table
            and (
                recipe := _recipe(self.table, names()[self.table, number.cell["system"]], number.cell, self.from_models)
            )
        }
        row_numbers = [desk.compute(recipe) for recipe in rows]
        letter = "p" if self.table == "8" else "q"
        return {
            (rate,): math.fsum(numbers[rate, "all", "value"] for numbers in row_numbers) / len(row_numbers)
            for rate in (f"{letter}_m", f"{letter}_f", f"{letter}_fam")
        }


@cache
def names() -> dict[tuple[str, str], str]:
    """The hub ids of models, and the folders of translation systems, by table and printed name."""
    text = files(__package__).joinpath("gest.csv").read_text(encoding="utf-8")
    return {(row["table"], row["system"]): row["name"] for row in csv.DictReader(StringIO(text))}
