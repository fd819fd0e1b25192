"""Run the settings of a simulation in parallel processes, and print tables of the results."""

import hashlib
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Rng = np.random.Generator
# The sum and the number of values, by column.
Counts = dict[str, tuple[float, int]]
Simulate = Callable[[Rng, int], Counts]

# The number of data sets per task. Each task has its own seed, so results do not depend on the number of processes.
CHUNK = 250
SEED = 16


@dataclass(frozen=True)
class Setting:
    """One setting of a table: `simulate` draws its data sets and returns its counts.

    `most` limits the number of data sets of slow settings.
    """

    table: str
    row: tuple[str, ...]
    simulate: Simulate
    most: int | None = None


@dataclass(frozen=True)
class Table:
    """The layout of a table: `keys` are the headings of the first columns, `columns` the names of the counts.

    Settings with equal keys are combined in one row, with the range of their values. Columns in `plain` are numbers,
    not shares.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    plain: tuple[str, ...] = ()

    def text(self, results: "Sequence[SettingResult]") -> str:
        """Return the table in Markdown, in percent."""
        rows: dict[tuple[str, ...], list[SettingResult]] = {}
        for result in results:
            rows.setdefault(result.setting.row[: len(self.keys)], []).append(result)
        body = [
            [*key, *(span([result.mean(name) for result in group], name in self.plain) for name in self.columns)]
            for key, group in rows.items()
        ]
        return f"**{self.title}**\n\n{markdown(body, [*self.keys, *self.columns], len(self.keys))}"


@dataclass(frozen=True)
class SettingResult:
    """The counts of a setting."""

    setting: Setting
    counts: Counts

    def mean(self, column: str) -> float | None:
        """Return the mean of a column; None if fewer than one data set in 20 has a value."""
        total, number = self.counts.get(column, (0.0, 0))
        most = max(count for _, count in self.counts.values())
        return total / number if number > most / 20 else None


def each(draw_and_count: Callable[[Rng], Mapping[str, float | bool | None]]) -> Simulate:
    """Return a simulation from a function for one data set; results that are None are not counted."""

    def simulate(rng: Rng, data_sets: int) -> Counts:
        counts: Counts = {}
        for _ in range(data_sets):
            for name, value in draw_and_count(rng).items():
                total, number = counts.get(name, (0.0, 0))
                counts[name] = (total, number) if value is None else (total + float(value), number + 1)
        return counts

    return simulate


_settings: Sequence[Setting] = ()
_seed = SEED


def run(
    settings: Sequence[Setting],
    data_sets: int,
    jobs: int,
    log: Callable[[str], None] = lambda _: None,
    *,
    seed: int = SEED,
) -> list[SettingResult]:
    """Run all settings with this number of data sets, in `jobs` processes."""
    global _settings, _seed
    _settings, _seed = settings, seed
    tasks = list(_tasks(settings, data_sets))
    counts: list[Counts] = [{} for _ in settings]
    left = [sum(1 for index, _, _ in tasks if index == number) for number in range(len(settings))]
    began = time.monotonic()
    if jobs > 1:
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            _collect(pool.imap(_work, tasks), counts, left, settings, log, began)
    else:
        _collect(map(_work, tasks), counts, left, settings, log, began)
    return [SettingResult(setting, totals) for setting, totals in zip(settings, counts, strict=True)]


def _tasks(settings: Sequence[Setting], data_sets: int) -> Iterator[tuple[int, int, int]]:
    for index, setting in enumerate(settings):
        wanted = min(data_sets, setting.most or data_sets)
        for chunk, start in enumerate(range(0, wanted, CHUNK)):
            yield index, chunk, min(CHUNK, wanted - start)


def _work(task: tuple[int, int, int]) -> tuple[int, Counts]:
    index, chunk, size = task
    setting = _settings[index]
    digest = hashlib.sha256("\x1f".join((str(_seed), setting.table, *setting.row, str(chunk))).encode()).digest()
    return index, setting.simulate(np.random.default_rng(int.from_bytes(digest[:16])), size)


def _collect(
    results: Iterable[tuple[int, Counts]],
    counts: list[Counts],
    left: list[int],
    settings: Sequence[Setting],
    log: Callable[[str], None],
    began: float,
) -> None:
    for index, task_counts in results:
        for name, (total, number) in task_counts.items():
            before = counts[index].get(name, (0.0, 0))
            counts[index][name] = before[0] + total, before[1] + number
        left[index] -= 1
        if not left[index]:
            setting = settings[index]
            result = SettingResult(setting, counts[index])
            numbers = ", ".join(f"{name} {result.mean(name) or 0:.3f}" for name in counts[index])
            log(f"{time.monotonic() - began:6.0f} s  {setting.table}: {' | '.join(setting.row)}: {numbers}")


def markdown(rows: Sequence[Sequence[str]], headings: Sequence[str], text_columns: int = 1) -> str:
    """Return a Markdown table whose first columns are text and whose others are numbers."""
    rule = ["---"] * text_columns + ["---:"] * (len(headings) - text_columns)
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, rule, *rows))


def percent(value: float | None, digits: int = 1) -> str:
    """Return a share as a percentage.

    >>> percent(0.9512), percent(None)
    ('95.1', '–')
    """
    return "–" if value is None else f"{100 * value:.{digits}f}"


def span(values: Iterable[float | None], plain: bool = False) -> str:
    """Return the range of shares, as percentages, or of plain numbers.

    >>> span([0.948, 0.952]), span([0.95, None]), span([]), span([15.43], plain=True)
    ('94.8–95.2', '95.0', '–', '15.43')
    """
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    low, high = (
        f"{end:.3g}" if plain and end < 1 else f"{end:.2f}" if plain else percent(end)
        for end in (min(known), max(known))
    )
    return low if low == high else f"{low}–{high}"
