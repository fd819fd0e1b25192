"""All runs of a workspace, with their names and tags; their summaries are kept in `studio.sqlite`."""

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import tiltmeter
from tiltmeter.database import Database
from tiltmeter.database.cache_database import compute_checksum
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import escape_unsafe
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.studio.run_folders import RunFolder, find_run_folder, find_run_folders
from tiltmeter.studio.run_summary import RunSummary, summarize_run
from tiltmeter.studio.studio_workspace import STUDIO_DATABASE, StudioWorkspace

LONGEST_NAME = 100
LONGEST_TAG = 30
MOST_TAGS = 12
# Part of the stamp of a summary: those of another version are made again.
_FORMAT = f"1 {tiltmeter.__version__}"
_UNREAD = RunSummary()
_ODD_NAME = RunSummary(problem="The name of its folder, or of one above, cannot be used in an address; rename it.")
# Paths that are surely names in a workspace; others are checked by it, which is slower.
_PLAIN = re.compile(r"\w[\w .+-]*(/\w[\w .+-]*)*")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS run_summary (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, summary TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS run_name (path TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS run_tag (path TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (path, tag));
"""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in the list.

    `path` names it in the workspace; it is empty if it cannot, and then nothing can be done with the run. `is_read` is
    False if its summary was not read yet.
    """

    path: str
    name: str
    tags: tuple[str, ...]
    summary: RunSummary
    changed: float
    running: bool = False
    is_read: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether it can be opened, compared and downloaded."""
        return self.is_read and not self.running and not self.summary.problem

    @property
    def key(self) -> str:
        """Identifies it on a page."""
        return hashlib.sha256(self.path.encode()).hexdigest()[:12]

    @property
    def words(self) -> str:
        """The text that a search looks into."""
        languages = [name for code in self.summary.languages for name in (code, get_language_name(code))]
        benchmarks = [benchmark.name for benchmark in self.summary.benchmarks]
        return "\n".join([self.name, self.path, *self.summary.models, *benchmarks, *languages, *self.tags]).casefold()


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are listed: those with all words of `text`, and each of the others that is given."""

    text: str = ""
    benchmark: str = ""
    language: str = ""
    tone: str = ""
    tag: str = ""

    def is_listed(self, run: ListedRun) -> bool:
        """Whether a run is listed."""
        summary = run.summary
        return (
            (not self.benchmark or any(found.name == self.benchmark for found in summary.benchmarks))
            and (not self.language or self.language in summary.languages)
            and (not self.tone or self.tone in summary.tones)
            and (not self.tag or self.tag in run.tags)
            and all(word in run.words for word in self.text.casefold().split())
        )


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """The values that filters can have, from the runs that there are."""

    benchmarks: list[str]
    languages: list[str]
    tags: list[str]


def list_choices(runs: Iterable[ListedRun]) -> FilterChoices:
    """The values of the filters."""
    runs = list(runs)
    return FilterChoices(
        sorted({benchmark.name for run in runs for benchmark in run.summary.benchmarks}),
        sorted({language for run in runs for language in run.summary.languages}, key=get_language_name),
        sorted({tag for run in runs for tag in run.tags}),
    )


class _RunStore(Database):
    """The tables of this room in `studio.sqlite`."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            str(path),
            _SCHEMA,
            synchronous="NORMAL",
            contents="the studio",
            remedy="move it away, and the studio makes a new one without the names and tags of runs",
        )

    def read_summaries(self) -> dict[str, tuple[str, str]]:
        """Stamp and summary by path; not those that were damaged, which are made again."""
        rows = self._db.execute("SELECT * FROM run_summary")
        return {path: (stamp, text) for path, signed, text in rows if (stamp := _verify_stamp(signed, path, text))}

    def store_summaries(self, rows: Sequence[tuple[str, str, str]], gone: Iterable[str]) -> None:
        """Store summaries, and forget those of runs that are gone."""
        with self.begin_transaction():
            signed = [(path, f"{stamp} {compute_checksum(path, stamp, text)}", text) for path, stamp, text in rows]
            self._db.executemany("INSERT OR REPLACE INTO run_summary VALUES (?, ?, ?)", signed)
            self._db.executemany("DELETE FROM run_summary WHERE path = ?", [(path,) for path in gone])

    def names(self) -> dict[str, str]:
        """The names that were given, by path."""
        return dict(self._db.execute("SELECT path, name FROM run_name"))

    def tags(self) -> dict[str, list[str]]:
        """The tags, by path."""
        found: dict[str, list[str]] = {}
        for path, tag in self._db.execute("SELECT path, tag FROM run_tag ORDER BY tag"):
            found.setdefault(path, []).append(tag)
        return found

    def describe(self, path: str, name: str | None, tags: Iterable[str] | None) -> None:
        """Set the name and the tags of a run, if given."""
        with self.begin_transaction():
            if name is not None:
                self._db.execute("DELETE FROM run_name WHERE path = ?", (path,))
                if name:
                    self._db.execute("INSERT INTO run_name VALUES (?, ?)", (path, name))
            if tags is not None:
                self._db.execute("DELETE FROM run_tag WHERE path = ?", (path,))
                self._db.executemany("INSERT INTO run_tag VALUES (?, ?)", [(path, tag) for tag in tags])


class RunIndex:
    """The runs of a workspace. `running` gives the folders that jobs write to."""

    def __init__(self, workspace: StudioWorkspace, running: Callable[[], AbstractSet[Path]] = frozenset) -> None:
        self.workspace = workspace
        self.running = running

    def runs(self, seconds: float | None = None) -> list[ListedRun]:
        """All runs, newest first.

        Reading summaries stops after `seconds`; the runs that are left, the oldest, are listed without a summary, and
        are read by the next call.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        there = sorted(find_run_folders(self.workspace.folder), key=lambda folder: -folder.changed)
        folders = [folder for folder in there if self._is_nameable(folder.path)]
        with self._store() as store:
            kept, names, tags = store.read_summaries(), store.names(), store.tags()
            read: dict[str, RunSummary] = {}
            new: list[tuple[str, str, str]] = []
            for folder in folders:
                stamp, text = kept.get(folder.path, ("", ""))
                if stamp == _format_stamp(folder):
                    read[folder.path] = RunSummary.from_json(text)
                elif deadline is None or not new or time.monotonic() < deadline:
                    read[folder.path] = summarize_run(self.workspace.folder / folder.path)
                    new.append((folder.path, _format_stamp(folder), read[folder.path].to_json()))
            gone = kept.keys() - {folder.path for folder in folders}
            if new or gone:
                store.store_summaries(new, gone)
        writing = self._running()
        runs = [
            ListedRun(
                path=folder.path,
                name=names.get(folder.path) or folder.path.rsplit("/", 1)[-1],
                tags=tuple(tags.get(folder.path, ())),
                summary=read.get(folder.path, _UNREAD),
                changed=folder.changed,
                running=folder.path in writing,
                is_read=folder.path in read,
            )
            for folder in folders
        ]
        runs += [
            ListedRun("", escape_unsafe(folder.path), (), _ODD_NAME, folder.changed)
            for folder in there
            if not self._is_nameable(folder.path)
        ]
        return sorted(runs, key=_get_sort_key)

    def run(self, path: str) -> ListedRun:
        """One run, finished or not; a UsageError if there is none."""
        folder = find_run_folder(self.workspace.path(path))
        if folder is None:
            raise UsageError(f"There is no run {path!r} in the workspace.")
        with self._store() as store:
            names, tags = store.names(), store.tags()
        return ListedRun(
            path=path,
            name=names.get(path) or path.rsplit("/", 1)[-1],
            tags=tuple(tags.get(path, ())),
            summary=summarize_run(self.workspace.folder / path),
            changed=folder.changed,
            running=path in self._running(),
        )

    def whole(self, path: str) -> ListedRun:
        """One run that is finished and can be read; a UsageError with the problem otherwise."""
        run = self.run(path)
        if run.running:
            raise UsageError(f"{run.name} is still running; wait for its end, or stop it first.")
        if run.summary.problem:
            raise UsageError(f"{run.name} cannot be opened. {run.summary.problem}")
        return run

    def describe(self, path: str, *, name: str | None = None, tags: str | None = None) -> None:
        """Give a run a name for display, or tags, separated by commas, instead of those it has; or both.

        An empty name, or the folder's, gives it its folder's name again. The folder is not renamed: jobs, scripts and
        notes may name it.
        """
        self.run(path)
        given_name = None if name is None else _validate_name(name, path)
        given_tags = None if tags is None else _validate_tags(tags)
        self.set_description(path, given_name, given_tags)

    def set_description(self, path: str, name: str | None, tags: Iterable[str] | None) -> None:
        """Set the name and the tags of a path as they are given; empty ones are forgotten."""
        with self._store() as store:
            store.describe(path, name, tags)

    def given_name(self, path: str) -> str:
        """The name that a run was given; empty if it has its folder's."""
        with self._store() as store:
            return store.names().get(path, "")

    def _is_nameable(self, path: str) -> bool:
        if _PLAIN.fullmatch(path):
            return True
        try:
            path.encode()
            self.workspace.path(path)
        except (UnicodeEncodeError, UsageError):
            return False
        return True

    def _store(self) -> _RunStore:
        return _RunStore(self.workspace.state / STUDIO_DATABASE)

    def _running(self) -> set[str]:
        folders = (folder.resolve() for folder in self.running())
        return {self.workspace.name_of(folder) for folder in folders if folder.is_relative_to(self.workspace.folder)}


def _validate_name(text: str, path: str) -> str:
    name = " ".join(escape_unsafe(text).split())
    if len(name) > LONGEST_NAME:
        raise UsageError(f"The name has {len(name)} characters; give at most {LONGEST_NAME}.")
    return "" if name == path.rsplit("/", 1)[-1] else name


def _validate_tags(text: str) -> list[str]:
    tags = list(dict.fromkeys(filter(None, (" ".join(escape_unsafe(tag).split()) for tag in re.split("[,;\n]", text)))))
    if long := next((tag for tag in tags if len(tag) > LONGEST_TAG), None):
        raise UsageError(f"The tag {long[:LONGEST_TAG]}… has {len(long)} characters; give at most {LONGEST_TAG}.")
    if len(tags) > MOST_TAGS:
        raise UsageError(f"These are {len(tags)} tags; give a run at most {MOST_TAGS}.")
    return tags


def _verify_stamp(signed: str, path: str, text: str) -> str:
    """The stamp of a summary, which a checksum follows; empty if that is wrong, or missing."""
    stamp, _, found = signed.rpartition(" ")
    return stamp if found == str(compute_checksum(path, stamp, text)) else ""


def _format_stamp(folder: RunFolder) -> str:
    return f"{_FORMAT} {folder.stamp}"


def _get_sort_key(run: ListedRun) -> tuple[float, str]:
    """The key of a run's place: by the time it was finished, or changed if it was not or has not been read."""
    finished = run.summary.finished_at
    return -(run.changed if finished is None else finished), run.path
