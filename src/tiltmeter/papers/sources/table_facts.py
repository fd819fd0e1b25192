"""Recipes for numbers in the text of a paper that summarise its tables; they are recomputed from the printed tables."""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations
from statistics import correlation, fmean

from tiltmeter.measures.stereotype_sides import FEMALE, MALE
from tiltmeter.papers.printed_numbers import PrintedNumber, find_paper, read_printed_numbers
from tiltmeter.papers.sources.recipe import Numbers, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext

# The head of a table row, such as system and language, or model and template.
Head = tuple[str, ...]
Rates = dict[Head, dict[int, float]]
_EXCLUDED_MODEL = "bert-base-multilingual-cased"  # excluded in section 4.3.3 of the GEST paper


def build_recipe(paper: str) -> Recipe:
    """Return the recipe for the numbers in the text of a paper that follow from its printed tables."""
    return Recipe("the paper's tables as printed", summarize_printed_tables, (paper,))


def summarize_printed_tables(context: RecipeContext, paper: str) -> Numbers:  # noqa: ARG001 - as all recipes
    """Return the numbers that follow from the printed tables of a paper; keys are the names of the numbers."""
    values = [number for number in read_printed_numbers(find_paper(paper)) if number.kind == "value"]
    facts = _compute_steinborn(values) if paper == "steinborn2022" else _compute_gest(values)
    return {(name,): float(value) for name, value in facts}


def _compute_steinborn(values: Iterable[PrintedNumber]) -> Iterator[tuple[str, float]]:
    binarized = [n.text for n in values if n.table == "2" and n.cell["metric"] == "B.S_JSD"]
    yield "rows of Table 2 with a binarized S_JSD of 50", binarized.count("50")


def _compute_gest(values: list[PrintedNumber]) -> Iterator[tuple[str, float]]:
    yield "mean number of translations that show a gender", fmean(float(n.text) for n in values if n.table == "6")
    most_feminine = [
        all(row[7] < rate for number, rate in row.items() if number != 7) for row in collect_rates(values, "8").values()
    ]
    yield "pairs in which stereotype 7 has the lowest masculine rate", sum(most_feminine)
    english = {**collect_rates(values, "9", "masked"), **collect_rates(values, "10", "generative")}
    pairs = list(combinations(english, 2))
    yield (
        "mean correlation between templates",
        _compute_mean_correlation(english, (p for p in pairs if p[0][:2] == p[1][:2])),
    )
    same = (p for p in pairs if (p[0][0], p[0][-1]) == (p[1][0], p[1][-1]))
    yield "mean correlation between models", _compute_mean_correlation(english, same)
    slavic = {head: row for head, row in collect_rates(values, "11").items() if head[0] != _EXCLUDED_MODEL}
    yield (
        "mean correlation between pairs of a model and a language",
        _compute_mean_correlation(slavic, combinations(slavic, 2)),
    )
    yield from _compute_judgements(
        {(n.table, n.cell["system"], n.cell["quantity"]): int(n.text) for n in values if n.table in "45"}
    )


def collect_rates(values: Iterable[PrintedNumber], table: str, *prefix: str) -> Rates:
    """Return the rates of a table by row head and stereotype; `prefix` is added before each row head."""
    rates: Rates = {}
    for number in values:
        if number.table == table:
            row = rates.setdefault((*prefix, *number.build_row_head()), {})
            row[int(number.cell["stereotype"])] = float(number.text)
    return rates


def compute_stereotype_rate(row: dict[int, float]) -> float:
    """Compute g_s from the rates in a row, on the scale of the table."""
    men, women = ([math.log(row[number]) for number in side] for side in (MALE, FEMALE))
    return math.exp(fmean(men) - fmean(women))


def _compute_mean_correlation(rows: Rates, pairs: Iterable[tuple[Head, Head]]) -> float:
    """Return the mean over pairs of rows of the correlation between the logarithms of their rates."""
    logs = {head: [math.log(row[number]) for number in sorted(row)] for head, row in rows.items()}
    return fmean(correlation(logs[one], logs[other]) for one, other in pairs)


def _compute_judgements(cells: dict[tuple[str, str, str], int]) -> Iterator[tuple[str, float]]:
    """Yield the names and values of the numbers that follow from the two tables of judgements."""
    judged = {(p, t): cells["4", f"predicted {p}", f"true {t}"] for p in "MFU" for t in "MFN"}
    decided = sum(count for (p, _), count in judged.items() if p != "U")
    right = judged["M", "M"] + judged["F", "F"]
    overlooked = judged["U", "M"] + judged["U", "F"]
    yield "translations that were judged", sum(judged.values())
    yield "correct where a gender was found, %", 100 * right / decided
    yield "neutral where none was found, %", 100 * judged["U", "N"] / (overlooked + judged["U", "N"])
    yield "translations with a wrong gender", decided - right
    yield "gendered translations where none was found", overlooked
    yield "masculine among gendered translations where none was found, %", 100 * judged["U", "M"] / overlooked
    pairs = {(p, case): cells["5", p, f"case {case}"] for p in ("positive", "negative") for case in "123"}
    wanted = pairs["positive", "3"] + pairs["negative", "3"]
    accepted = sum(pairs["positive", case] for case in "123")
    yield "false negatives of the pair filter, %", 100 * pairs["negative", "3"] / wanted
    yield "false positives of the pair filter, %", 100 * (accepted - pairs["positive", "3"]) / accepted
