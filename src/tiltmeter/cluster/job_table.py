"""A table of the jobs of a matrix for the terminal, built from the state files of the jobs."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.live import Live
from rich.table import Table
from rich.text import Text

from tiltmeter.cluster.engine_slurm import read_submitted_job
from tiltmeter.cluster.job_state import read_state
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.printable_text import create_plain_console

# Maximum number of rows of the table that is shown while jobs run.
_MOST_ROWS = 30
_SECONDS_BETWEEN = 1.0
_SECONDS_BETWEEN_LINES = 60.0
_ORDER = ("running", "lost", "failed", "stopped", "queued", "waiting", "finished")


@dataclass(frozen=True, slots=True)
class JobRow:
    """A row of the table of jobs.

    `cells` and `finished` are the numbers of all and of finished cells, which are the runs of the job. `failed` maps
    the folder of a failed cell to the reason. `now` is the folder of the cell that is being measured; `answered` and
    `questions` are the numbers of its answered and of all its questions.
    """

    model: str
    state: str
    cells: int
    finished: int
    failed: dict[str, str]
    now: str
    answered: int
    questions: int
    host: str


def build_job_row(entry: ModelCells) -> JobRow:
    """Build the row of a job; the state is `waiting` without a state file, and `lost` if the job's process is gone."""
    state: dict[str, Any] = read_state(entry.folder)
    name = str(state.get("state", "waiting"))
    # False if the plan has changed since the job started.
    is_of_plan = state.get("plan") == entry.digest
    finished = state.get("finished", 0) if is_of_plan else len(entry.cells) - len(entry.unfinished_cells)
    if name in ("waiting", "finished") or (name != "running" and not is_of_plan):
        name = "finished" if finished == len(entry.cells) else "waiting"
    if name != "running" and _is_queued(entry, state):
        name = "queued"
    running = name == "running"
    return JobRow(
        entry.label,
        name,
        len(entry.cells),
        finished,
        state.get("failed", {}) if is_of_plan else {},
        state.get("cell", "") if running else "",
        state.get("answered", 0) if running else 0,
        state.get("questions", 0) if running else 0,
        state.get("host", "") if running else "",
    )


def _is_queued(entry: ModelCells, state: Mapping[str, Any]) -> bool:
    """Return whether the job waits in Slurm: it was submitted or queued again, and has not started since then."""
    in_slurm = read_submitted_job(entry)
    if in_slurm is None:
        return False
    if state.get("slurm") == in_slurm.id:
        # If a job was stopped at its time limit, Slurm has queued it again, but its state file still says `stopped`.
        return state.get("state") == "stopped"
    return float(state.get("began", 0.0)) < in_slurm.time


def build_job_rows(entries: Sequence[ModelCells]) -> list[JobRow]:
    """Build the rows of all jobs, running jobs first."""
    return sorted(map(build_job_row, entries), key=lambda row: _ORDER.index(row.state) if row.state in _ORDER else 0)


def build_job_table(rows: Sequence[JobRow], most: int | None = None) -> Table:
    """Build the table of jobs with at most `most` rows; the caption contains the number of jobs that are left out."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("model", overflow="fold")
    table.add_column("state")
    table.add_column("cells", justify="right")
    table.add_column("failed", justify="right")
    table.add_column("now", overflow="fold")
    table.add_column("questions", justify="right")
    table.add_column("machine")
    for row in rows[:most]:
        values = (
            row.model,
            row.state,
            f"{row.finished}/{row.cells}",
            str(len(row.failed) or ""),
            row.now,
            _format_answered(row),
        )
        table.add_row(*(Text(value) for value in (*values, row.host)))
    if most is not None and len(rows) > most:
        table.caption = f"and {len(rows) - most} more models"
    return table


def _format_answered(row: JobRow) -> str:
    """Format the numbers of answered and of all questions; empty if the questions are not counted yet."""
    return f"{row.answered:,}/{row.questions:,}" if row.questions else ""


def summarize_jobs(rows: Sequence[JobRow]) -> str:
    """Summarize all jobs in one line.

    >>> summarize_jobs([JobRow("a", "running", 4, 1, {}, "starter.en.published", 20, 80, "host")])
    '1 of 4 cells complete, 0 failed; models: 1 running. a: starter.en.published 20/80'
    >>> summarize_jobs([JobRow("a", "running", 4, 0, {}, "starter.en.published", 0, 0, "host")])
    '0 of 4 cells complete, 0 failed; models: 1 running. a: starter.en.published loading'
    """
    cells, finished = sum(row.cells for row in rows), sum(row.finished for row in rows)
    states = Counter(row.state for row in rows)
    counts = ", ".join(f"{states[state]} {state}" for state in _ORDER if states[state])
    running = [f"{row.model}: {row.now} {_format_answered(row) or 'loading'}" for row in rows if row.state == "running"]
    failed = sum(len(row.failed) for row in rows)
    more = f". {'; '.join(running[:4])}" if running else ""
    return f"{finished} of {cells} cells complete, {failed} failed; models: {counts}{more}"


@contextmanager
def show_jobs() -> Iterator[Callable[[Sequence[ModelCells]], None]]:
    """Yield a function that shows jobs on standard error: as a table in a terminal, else as one line per minute."""
    console = create_plain_console(
        stderr=True, soft_wrap=not create_plain_console(stderr=True).is_terminal, highlight=False
    )
    drawn = time.monotonic() - _SECONDS_BETWEEN
    printed = time.monotonic()
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def show(entries: Sequence[ModelCells]) -> None:
            nonlocal drawn, printed
            now = time.monotonic()
            if console.is_terminal and now - drawn >= _SECONDS_BETWEEN:
                drawn = now
                live.update(build_job_table(build_job_rows(entries), _MOST_ROWS), refresh=True)
            elif not console.is_terminal and now - printed >= _SECONDS_BETWEEN_LINES:
                printed = now
                console.print(summarize_jobs(build_job_rows(entries)), markup=False)

        yield show
