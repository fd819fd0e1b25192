"""Numbers in the text of a paper that sum up its own tables, recomputed from the tables as printed."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from statistics import correlation, fmean

from tiltmeter.measures.stereotype_sides import FEMALE, MALE
from tiltmeter.papers.printed_numbers import PrintedNumber, find_paper, read_printed_numbers
from tiltmeter.papers.sources.recipe import Numbers
from tiltmeter.papers.sources.recipe_context import RecipeContext

# The head of a row: system, language or template.
Head = tuple[str, ...]
Rates = dict[Head, dict[int, float]]
_UNLIKE_THE_OTHERS = "bert-base-multilingual-cased"  # section 4.3.3 leaves it out


@dataclass(frozen=True, slots=True)
class PrintedTables:
    """The tables of a paper as printed."""

    key: str

    @property
    def name(self) -> str:
        """The source."""
        return "the paper's tables as printed"

    def numbers(self, desk: RecipeContext) -> Numbers:  # noqa: ARG002 - as all recipes
        """What follows from the tables, by what it is called in the text."""
        values = [number for number in read_printed_numbers(find_paper(self.key)) if number.kind == "value"]
        facts = _compute_steinborn(values) if self.key == "steinborn2022" else _compute_gest(values)
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
    slavic = {head: row for head, row in collect_rates(values, "11").items() if head[0] != _UNLIKE_THE_OTHERS}
    yield (
        "mean correlation between pairs of a model and a language",
        _compute_mean_correlation(slavic, combinations(slavic, 2)),
    )
    yield from _compute_judgements(
        {(n.table, n.cell["system"], n.cell["quantity"]): int(n.text) for n in values if n.table in "45"}
    )


def collect_rates(values: Iterable[PrintedNumber], table: str, *prefix: str) -> Rates:
    """The rates of a table by head of the row, after `prefix`, and stereotype."""
    found: Rates = {}
    for number in values:
        if number.table == table:
            row = found.setdefault((*prefix, *number.row()), {})
            row[int(number.cell["stereotype"])] = float(number.text)
    return found


def compute_stereotype_rate(row: dict[int, float]) -> float:
    """g_s of the rates of a row, on their scale."""
    men, women = ([math.log(row[number]) for number in side] for side in (MALE, FEMALE))
    return math.exp(fmean(men) - fmean(women))


def _compute_mean_correlation(rows: Rates, pairs: Iterable[tuple[Head, Head]]) -> float:
    """The mean correlation of the logarithms of rates."""
    logs = {head: [math.log(row[number]) for number in sorted(row)] for head, row in rows.items()}
    return fmean(correlation(logs[one], logs[other]) for one, other in pairs)


def _compute_judgements(cells: dict[tuple[str, str, str], int]) -> Iterator[tuple[str, float]]:
    """What follows from the two tables of judgements."""
    found = {(p, t): cells["4", f"predicted {p}", f"true {t}"] for p in "MFU" for t in "MFN"}
    decided = sum(count for (p, _), count in found.items() if p != "U")
    right = found["M", "M"] + found["F", "F"]
    overlooked = found["U", "M"] + found["U", "F"]
    yield "translations that were judged", sum(found.values())
    yield "correct where a gender was found, %", 100 * right / decided
    yield "neutral where none was found, %", 100 * found["U", "N"] / (overlooked + found["U", "N"])
    yield "translations with a wrong gender", decided - right
    yield "gendered translations where none was found", overlooked
    yield "masculine among gendered translations where none was found, %", 100 * found["U", "M"] / overlooked
    pairs = {(p, case): cells["5", p, f"case {case}"] for p in ("positive", "negative") for case in "123"}
    wanted = pairs["positive", "3"] + pairs["negative", "3"]
    accepted = sum(pairs["positive", case] for case in "123")
    yield "false negatives of the pair filter, %", 100 * pairs["negative", "3"] / wanted
    yield "false positives of the pair filter, %", 100 * (accepted - pairs["positive", "3"]) / accepted
