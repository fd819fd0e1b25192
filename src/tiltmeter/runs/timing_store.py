"""A database of the durations of runs on this machine, for time estimates of later runs."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

from tiltmeter.database import Database

_SCHEMA = """
DROP TABLE IF EXISTS timings;
CREATE TABLE IF NOT EXISTS run_timings (
    id INTEGER PRIMARY KEY,
    model TEXT NOT NULL,
    kind TEXT NOT NULL,
    bytes INTEGER,
    device TEXT NOT NULL,
    forms TEXT NOT NULL,
    protocol TEXT NOT NULL,
    items INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    start_seconds REAL NOT NULL,
    asked INTEGER NOT NULL,
    asking_seconds REAL NOT NULL,
    end_seconds REAL NOT NULL,
    tokens INTEGER NOT NULL
) STRICT;
"""


@dataclass(frozen=True, slots=True)
class Timing:
    """The duration of one run of one model.

    `bytes` is the size of the model's files; None for a model on a server. `start_seconds` is the time until the first
    new answers: imports, loading and the first batch. `asked` is the number of questions that were then answered in
    `asking_seconds`. `questions` is the number of all questions, including those with stored answers. `end_seconds` is
    the time for computing measures and writing files. `tokens` is the number of tokens of all questions; 0 if unknown.
    """

    model: str
    kind: str
    bytes: int | None
    device: str
    forms: str
    protocol: str
    items: int
    questions: int
    start_seconds: float
    asked: int
    asking_seconds: float
    end_seconds: float
    tokens: int = 0

    def combine_with(self, other: "Timing") -> "Timing":
        """Return the sum of this timing and the timing of a second prediction head of the same model."""
        return replace(
            self,
            questions=self.questions + other.questions,
            start_seconds=self.start_seconds + other.start_seconds,
            asked=self.asked + other.asked,
            asking_seconds=self.asking_seconds + other.asking_seconds,
        )


_COLUMNS = ", ".join(field.name for field in fields(Timing))
# Maximum number of timings that are read for estimates.
_NEWEST = 2000


class TimingStore(Database):
    """A database file with a table of timings."""

    def __init__(self, file: Path) -> None:
        remedy = "delete it; it is only used for time estimates"
        super().__init__(str(file), _SCHEMA, synchronous="NORMAL", contents="timings", remedy=remedy)

    def add_timings(self, timings: Iterable[Timing]) -> None:
        """Add timings to the table."""
        rows = [astuple(timing) for timing in timings]
        with self.begin_transaction():
            self._db.executemany(
                f"INSERT INTO run_timings ({_COLUMNS}) VALUES ({', '.join('?' * len(fields(Timing)))})", rows
            )

    def list_newest_timings(self) -> list[Timing]:
        """Return the newest timings, newest first."""
        rows = self._db.execute(f"SELECT {_COLUMNS} FROM run_timings ORDER BY id DESC LIMIT {_NEWEST}")
        return [Timing(*row) for row in rows]
