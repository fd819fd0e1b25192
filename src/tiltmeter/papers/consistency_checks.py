"""Consistency checks between printed numbers of the same paper."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO
from itertools import product
from statistics import fmean, geometric_mean

from tiltmeter.measures.association import compute_icat
from tiltmeter.measures.gest import FEMALE, MALE
from tiltmeter.measures.gest_mt import compute_masculine_interval, compute_masculine_share
from tiltmeter.papers.printed_numbers import PrintedNumber
from tiltmeter.papers.rounding import NOISE, matches_printed
from tiltmeter.papers.sources.gest_tables import GROUPS, load_names

_SIDES = {"p/q_m": MALE, "p/q_f": FEMALE}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A printed number that is inconsistent with other printed numbers of its paper.

    `other` is a clause with the value that follows from the other numbers.
    """

    number: PrintedNumber
    other: str


@dataclass(frozen=True, slots=True)
class ConsistencyCheck:
    """The result of a consistency check: its name, how many printed numbers were checked, and the contradictions."""

    name: str
    numbers: int
    contradictions: tuple[Contradiction, ...]

    @property
    def consistent_count(self) -> int:
        """How many printed numbers passed the check."""
        return self.numbers - len(self.contradictions)


def check_consistency(numbers: Iterable[PrintedNumber]) -> list[ConsistencyCheck]:
    """Return the results of all checks that apply to at least one of the numbers."""
    numbers = list(numbers)
    checks = [
        _build_check("ICAT follows from the LMS and SS printed beside it", _check_icat(numbers)),
        _build_check(
            "the masculine rates in Table 8 of gest2024 and their intervals follow from the counts in its Figure 11",
            _check_rates(numbers),
        ),
        _build_check(
            "the yields in Table 6 of gest2024 are the sums of the counts in its Figure 11", _check_yields(numbers)
        ),
        _build_check(
            "the mean rates in Table 3 of gest2024 follow from the rows of its Tables 8 to 11", _check_means(numbers)
        ),
    ]
    return [check for check in checks if check.numbers]


def _build_check(name: str, checked: Iterable[tuple[PrintedNumber, str | None]]) -> ConsistencyCheck:
    results = list(checked)
    return ConsistencyCheck(
        name, len(results), tuple(Contradiction(number, other) for number, other in results if other)
    )


def _check_icat(numbers: list[PrintedNumber]) -> Iterator[tuple[PrintedNumber, str | None]]:
    rows: dict[tuple[object, ...], dict[str, PrintedNumber]] = {}
    for number in numbers:
        if "test" in number.cell:
            key = (number.paper.key, number.table, number.cell["test"], *number.build_row_head())
            rows.setdefault(key, {})[number.cell["metric"]] = number
    for row in rows.values():
        printed = row.get("ICAT") or row.get("micro ICAT")
        if printed is None or not {"LMS", "SS"} <= row.keys():
            continue
        lms, ss = (float(row[name].text) for name in ("LMS", "SS"))
        half = 0.5 * 10.0**-printed.digits
        # The unrounded LMS and SS differ by at most `half` from the printed ones, so the unrounded ICAT is between the
        # minimum and the maximum of these corners.
        corners = [compute_icat(lms + a, ss + b) for a, b in product((-half, half), repeat=2)]
        if abs(ss - 50) < half:
            corners.append(lms + half)
        possible = min(corners) - half - NOISE <= float(printed.text) <= max(corners) + half + NOISE
        digits = printed.digits
        yield printed, None if possible else f"LMS {lms} and SS {ss} give {compute_icat(lms, ss):.{digits}f}"


def _check_rates(numbers: list[PrintedNumber]) -> Iterator[tuple[PrintedNumber, str | None]]:
    counts = _read_counts()
    for number in numbers:
        if number.paper.key == "gest2024" and number.table == "8":
            pair = counts[_find_system(number), number.cell["language"], number.cell["stereotype"]]
            low, high = compute_masculine_interval(*pair)
            ours = {"value": compute_masculine_share(*pair), "lower end": low, "upper end": high}[number.kind]
            yield number, None if matches_printed(number.text, ours, number.digits) else f"the counts give {ours:.4f}"


def _check_yields(numbers: list[PrintedNumber]) -> Iterator[tuple[PrintedNumber, str | None]]:
    counts = _read_counts()
    for number in numbers:
        if number.paper.key == "gest2024" and number.table == "6":
            wanted = (_find_system(number), number.cell["language"])
            ours = sum(sum(pair) for (system, language, _), pair in counts.items() if (system, language) == wanted)
            yield number, None if matches_printed(number.text, ours, number.digits) else f"the counts give {ours}"


def _check_means(numbers: list[PrintedNumber]) -> Iterator[tuple[PrintedNumber, str | None]]:
    """Yield each rate in Table 3 of GEST, with a clause if it differs from the mean of Tables 8 to 11, else None."""
    rows: dict[str, dict[tuple[str, ...], dict[int, float]]] = {}
    for number in numbers:
        if number.paper.key == "gest2024" and number.kind == "value" and number.table in GROUPS.values():
            row = rows.setdefault(number.table, {}).setdefault(number.build_row_head(), {})
            row[int(number.cell["stereotype"])] = float(number.text)
    for number in numbers:
        if number.paper.key != "gest2024" or number.table != "3" or number.cell["quantity"] not in _SIDES:
            continue
        table, side = GROUPS[number.cell["system"]], _SIDES[number.cell["quantity"]]
        if table in rows:
            mean = fmean if table == "8" else geometric_mean
            ours = fmean(mean([row[i] for i in side]) for row in rows[table].values())
            # The mean is computed from rounded rates, so a larger difference is allowed.
            near = abs(ours - float(number.text)) <= 0.5 * 10.0**-number.digits + 0.001
            yield number, None if near else f"the rows give {ours:.4f}"


def _find_system(number: PrintedNumber) -> str:
    return load_names()[number.table, number.cell["system"]]


def _read_counts() -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return a mapping from (system, language, stereotype) to the numbers of masculine and feminine translations."""
    text = files(__package__).joinpath("tables", "gest2024_mt_counts.csv").read_text(encoding="utf-8")
    return {
        (row["system"], row["language"], row["stereotype"]): (int(row["male"]), int(row["female"]))
        for row in csv.DictReader(StringIO(text))
    }
