"""Settings of a simulation, run on several processes, and the tables that they make."""

import hashlib
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Rng = np.random.Generator
# The sum of what was counted and how often it was counted, by column.
Counts = dict[str, tuple[float, int]]
Simulate = Callable[[Rng, int], Counts]

# Data sets in one task. The numbers do not depend on the number of processes, since each task has its own seed.
CHUNK = 250
SEED = 16


@dataclass(frozen=True)
class Setting:
    """One row of a table: how its data sets are drawn, and what is counted in them.

    `most` limits the number of data sets where one takes long.
    """

    table: str
    row: tuple[str, ...]
    simulate: Simulate
    most: int | None = None


@dataclass(frozen=True)
class Table:
    """How the settings of a table are shown: `keys` name the first columns, `columns` what was counted.

    Settings that are alike in the keys share a row, which has the least and the greatest of their numbers. Columns in
    `plain` are numbers of their own, not shares.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    plain: tuple[str, ...] = ()

    def text(self, found: "Sequence[Found]") -> str:
        """The table in Markdown, in percent."""
        rows: dict[tuple[str, ...], list[Found]] = {}
        for one in found:
            rows.setdefault(one.setting.row[: len(self.keys)], []).append(one)
        body = [
            [*key, *(span([one.mean(name) for one in some], name in self.plain) for name in self.columns)]
            for key, some in rows.items()
        ]
        return f"**{self.title}**\n\n{markdown(body, [*self.keys, *self.columns], len(self.keys))}"


@dataclass(frozen=True)
class Found:
    """What was counted for a setting."""

    setting: Setting
    counts: Counts

    def mean(self, column: str) -> float | None:
        """The mean of a column; None where it was counted in hardly any data set."""
        total, number = self.counts.get(column, (0.0, 0))
        most = max(count for _, count in self.counts.values())
        return total / number if number > most / 20 else None


def each(one: Callable[[Rng], Mapping[str, float | bool | None]]) -> Simulate:
    """A simulation that draws one data set after the other; what is None does not count."""

    def simulate(rng: Rng, data_sets: int) -> Counts:
        counts: Counts = {}
        for _ in range(data_sets):
            for name, value in one(rng).items():
                total, number = counts.get(name, (0.0, 0))
                counts[name] = (total, number) if value is None else (total + float(value), number + 1)
        return counts

    return simulate


_settings: Sequence[Setting] = ()


def run(
    settings: Sequence[Setting], data_sets: int, jobs: int, say: Callable[[str], None] = lambda _: None
) -> list[Found]:
    """Run all settings on as many data sets; on several processes if there are to be several jobs."""
    global _settings  # noqa: PLW0603  (forked processes have it without pickling)
    _settings = settings
    tasks = list(_tasks(settings, data_sets))
    counts: list[Counts] = [{} for _ in settings]
    left = [sum(1 for index, _, _ in tasks if index == place) for place in range(len(settings))]
    began = time.monotonic()
    if jobs > 1:
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            _collect(pool.imap(_work, tasks), counts, left, settings, say, began)
    else:
        _collect(map(_work, tasks), counts, left, settings, say, began)
    return [Found(setting, found) for setting, found in zip(settings, counts, strict=True)]


def _tasks(settings: Sequence[Setting], data_sets: int) -> Iterator[tuple[int, int, int]]:
    for index, setting in enumerate(settings):
        wanted = min(data_sets, setting.most or data_sets)
        for chunk, start in enumerate(range(0, wanted, CHUNK)):
            yield index, chunk, min(CHUNK, wanted - start)


def _work(task: tuple[int, int, int]) -> tuple[int, Counts]:
    index, chunk, size = task
    setting = _settings[index]
    digest = hashlib.sha256("\x1f".join((str(SEED), setting.table, *setting.row, str(chunk))).encode()).digest()
    return index, setting.simulate(np.random.default_rng(int.from_bytes(digest[:16])), size)


def _collect(
    results: Iterable[tuple[int, Counts]],
    counts: list[Counts],
    left: list[int],
    settings: Sequence[Setting],
    say: Callable[[str], None],
    began: float,
) -> None:
    for index, found in results:
        for name, (total, number) in found.items():
            before = counts[index].get(name, (0.0, 0))
            counts[index][name] = before[0] + total, before[1] + number
        left[index] -= 1
        if not left[index]:
            setting = settings[index]
            numbers = ", ".join(f"{name} {Found(setting, counts[index]).mean(name) or 0:.3f}" for name in counts[index])
            say(f"{time.monotonic() - began:6.0f} s  {setting.table}: {' | '.join(setting.row)}: {numbers}")


def markdown(rows: Sequence[Sequence[str]], headings: Sequence[str], words: int = 1) -> str:
    """A Markdown table whose first columns are words and whose others are numbers."""
    rule = ["---"] * words + ["---:"] * (len(headings) - words)
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, rule, *rows))


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage.

    >>> percent(0.9512), percent(None)
    ('95.1', '–')
    """
    return "–" if value is None else f"{100 * value:.{digits}f}"


def span(values: Iterable[float | None], plain: bool = False) -> str:
    """The least and the greatest of some shares, as percentages, or of plain numbers.

    >>> span([0.948, 0.952]), span([0.95, None]), span([]), span([15.43], plain=True)
    ('94.8–95.2', '95.0', '–', '15.43')
    """
    there = [value for value in values if value is not None]
    if not there:
        return "–"
    low, high = (
        f"{end:.3g}" if plain and end < 1 else f"{end:.2f}" if plain else percent(end)
        for end in (min(there), max(there))
    )
    return low if low == high else f"{low}–{high}"
