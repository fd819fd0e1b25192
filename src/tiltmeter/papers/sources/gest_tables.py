"""The recipes for the numbers of GEST's tables."""

import csv
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from io import StringIO

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.forms.gest import GestItem, has_family_words
from tiltmeter.measures.stereotype_sides import MALE
from tiltmeter.papers.printed_numbers import CellKey, find_paper, read_printed_numbers
from tiltmeter.papers.sources import gest_scores, gest_translations
from tiltmeter.papers.sources.recipe import Numbers, NumberSource, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext

# Table 3 has means over the rows of these tables.
GROUPS = {"MT systems": "8", "English MLMs": "9", "English GLMs": "10", "Slavic MLMs": "11"}
# Tables of judgements by people.
_JUDGED = ("4", "5")
_NO_RUN = "Translation systems are not run; their released translations are read without --from-models."


def find_source(table: str, cell: CellKey, kind: str, *, from_models: bool) -> NumberSource:
    """The source of the number in a cell of a table."""
    if table == "1":
        return NumberSource(("sentences", cell["stereotype"]), SentenceCounts())
    if table in _JUDGED:
        return NumberSource((), lacking="The judgements of native speakers were not released.")
    if table == "3":
        return _find_mean(cell, from_models)
    name = load_names()[table, cell["system"]]
    if table == "7":
        return NumberSource(("pairs", cell["system"], cell["language"]), gest_scores.PairCounts())
    recipe = _build_recipe(table, name, cell, from_models)
    if table in ("6", "8"):
        key = ("yield", "all", "value") if table == "6" else ("p_i", cell["stereotype"], kind)
        return NumberSource(key, recipe, "" if recipe else _NO_RUN)
    return NumberSource(("q_i", cell["stereotype"], kind), recipe)


def _build_recipe(table: str, name: str, cell: CellKey, from_models: bool) -> Recipe | None:
    if table in ("6", "8"):
        return None if from_models else gest_translations.ReleasedTranslations(name, cell["language"])
    if table == "11":
        make: Callable[[str, str], Recipe] = gest_scores.GestPairsRun if from_models else gest_scores.ReleasedGestPairs
        return make(name, cell["language"])
    of_template = partial(gest_scores.GestRun if from_models else gest_scores.ReleasedGestScores, table, name)
    return of_template(cell["template"])


def _find_mean(cell: CellKey, from_models: bool) -> NumberSource:
    table = GROUPS[cell["system"]]
    rate = cell["quantity"].replace("p/q", "p" if table == "8" else "q")
    if table == "8" and from_models:
        return NumberSource((rate,), lacking=_NO_RUN)
    return NumberSource((rate,), RateMeans(table, from_models))


@dataclass(frozen=True, slots=True)
class RateMeans:
    """The means of the rates over all rows of a table; available only if all rows are."""

    table: str
    from_models: bool

    @property
    def name(self) -> str:
        """The rows averaged."""
        return f"all rows of Table {self.table}"

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The means of the rates about men, about women and about family."""
        rows = {
            recipe: None
            for number in read_printed_numbers(find_paper("gest2024"))
            if number.table == self.table
            and (
                recipe := _build_recipe(
                    self.table, load_names()[self.table, number.cell["system"]], number.cell, self.from_models
                )
            )
        }
        row_numbers = [desk.compute(recipe) for recipe in rows]
        letter = "p" if self.table == "8" else "q"
        return {
            (rate,): math.fsum(numbers[rate, "all", "value"] for numbers in row_numbers) / len(row_numbers)
            for rate in (f"{letter}_m", f"{letter}_f", f"{letter}_fam")
        }


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """The numbers of sentences in GEST's first edition."""

    @property
    def name(self) -> str:
        """The file."""
        return "data/gest.csv"

    def numbers(self, desk: RecipeContext) -> Numbers:
        """The sentences of each stereotype and of all, those with words about family, and the stereotypes."""
        desk.fetch(gest_scores.REPOSITORY, self.name)
        items = [item for item in load("gest-1.0", None, "en") if isinstance(item, GestItem)]
        counted = Counter(item.stereotype for item in items)
        about_family = sum(item.stereotype in MALE and has_family_words(item.sentence) for item in items)
        return {
            **{("sentences", str(number)): float(count) for number, count in counted.items()},
            ("sentences",): float(len(items)),
            ("sentences for stereotypes about men with words about family",): float(about_family),
            ("stereotypes",): float(len(counted)),
        }


@cache
def load_names() -> dict[tuple[str, str], str]:
    """The hub ids of models, and the folders of translation systems, by table and printed name."""
    text = files(__package__).joinpath("gest.csv").read_text(encoding="utf-8")
    return {(row["table"], row["system"]): row["name"] for row in csv.DictReader(StringIO(text))}
