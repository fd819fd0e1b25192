"""The list of all runs in a workspace, with their display names and tags.

The summaries of runs are cached in `studio.sqlite`.
"""

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

# The maximum numbers of characters in the display name of a run, of characters in a tag, and of tags for a run.
LONGEST_NAME = 100
LONGEST_TAG = 30
MOST_TAGS = 12
# The stamp of each cached summary contains this text, so that other versions of Tiltmeter do not use the summary.
_FORMAT = f"1 {tiltmeter.__version__}"
_UNREAD = RunSummary()
_ODD_NAME = RunSummary(problem="The name of the folder or of a parent folder cannot be used in a URL; rename it.")
# Matches paths that are valid in every workspace; other paths need a slower check.
_PLAIN = re.compile(r"\w[\w .+-]*(/\w[\w .+-]*)*")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS run_summary (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, summary TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS run_name (path TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS run_tag (path TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (path, tag));
"""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in the list of runs.

    `path` is relative to the workspace; it is empty if it cannot be used in a URL. `changed` is the time of the last
    change. `is_read` is False if the summary of the run has not been loaded yet.
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
        """Return whether the run can be opened, compared and downloaded."""
        return self.is_read and not self.running and not self.summary.problem

    @property
    def key(self) -> str:
        """Return an identifier of the run for HTML elements."""
        return hashlib.sha256(self.path.encode()).hexdigest()[:12]

    @property
    def search_text(self) -> str:
        """Return the text in which the search field of the list finds words, in lower case."""
        languages = [name for code in self.summary.languages for name in (code, get_language_name(code))]
        benchmarks = [benchmark.name for benchmark in self.summary.benchmarks]
        return "\n".join([self.name, self.path, *self.summary.models, *benchmarks, *languages, *self.tags]).casefold()


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A filter for the list of runs.

    A run matches if its names and tags contain all words of `text`, and if it has the value of every other field that
    is not empty.
    """

    text: str = ""
    benchmark: str = ""
    language: str = ""
    tone: str = ""
    tag: str = ""

    def is_listed(self, run: ListedRun) -> bool:
        """Return whether a run matches the filter."""
        summary = run.summary
        return (
            (not self.benchmark or any(benchmark.name == self.benchmark for benchmark in summary.benchmarks))
            and (not self.language or self.language in summary.languages)
            and (not self.tone or self.tone in summary.tones)
            and (not self.tag or self.tag in run.tags)
            and all(word in run.search_text for word in self.text.casefold().split())
        )


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """The values that the user can choose in the filters of the list of runs."""

    benchmarks: list[str]
    languages: list[str]
    tags: list[str]


def list_choices(runs: Iterable[ListedRun]) -> FilterChoices:
    """Return the values that the filters offer, which are the values that occur in the runs."""
    runs = list(runs)
    return FilterChoices(
        sorted({benchmark.name for run in runs for benchmark in run.summary.benchmarks}),
        sorted({language for run in runs for language in run.summary.languages}, key=get_language_name),
        sorted({tag for run in runs for tag in run.tags}),
    )


class _RunStore(Database):
    """The database tables about runs in `studio.sqlite`: summaries, display names and tags."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            str(path),
            _SCHEMA,
            synchronous="NORMAL",
            contents="the studio",
            remedy="delete it; the names and tags of runs will be lost",
        )

    def read_summaries(self) -> dict[str, tuple[str, str]]:
        """Return a dictionary from the path of each run to (stamp, summary); damaged summaries are left out."""
        rows = self._db.execute("SELECT * FROM run_summary")
        return {path: (stamp, text) for path, signed, text in rows if (stamp := _verify_stamp(signed, path, text))}

    def store_summaries(self, rows: Sequence[tuple[str, str, str]], gone: Iterable[str]) -> None:
        """Store summaries as (path, stamp, summary), and delete the summaries of the paths in `gone`."""
        with self.begin_transaction():
            signed = [(path, f"{stamp} {compute_checksum(path, stamp, text)}", text) for path, stamp, text in rows]
            self._db.executemany("INSERT OR REPLACE INTO run_summary VALUES (?, ?, ?)", signed)
            self._db.executemany("DELETE FROM run_summary WHERE path = ?", [(path,) for path in gone])

    def read_display_names(self) -> dict[str, str]:
        """Return a dictionary from the path of each run that has a display name to this name."""
        return dict(self._db.execute("SELECT path, name FROM run_name"))

    def read_tags(self) -> dict[str, list[str]]:
        """Return a dictionary from the path of each run that has tags to its tags."""
        tags: dict[str, list[str]] = {}
        for path, tag in self._db.execute("SELECT path, tag FROM run_tag ORDER BY tag"):
            tags.setdefault(path, []).append(tag)
        return tags

    def write_description(self, path: str, name: str | None, tags: Iterable[str] | None) -> None:
        """Set the display name and the tags of a run; a value of None leaves the name or the tags unchanged."""
        with self.begin_transaction():
            if name is not None:
                self._db.execute("DELETE FROM run_name WHERE path = ?", (path,))
                if name:
                    self._db.execute("INSERT INTO run_name VALUES (?, ?)", (path, name))
            if tags is not None:
                self._db.execute("DELETE FROM run_tag WHERE path = ?", (path,))
                self._db.executemany("INSERT INTO run_tag VALUES (?, ?)", [(path, tag) for tag in tags])


class RunIndex:
    """The runs of a workspace; the function `running` returns the run folders of active jobs."""

    def __init__(self, workspace: StudioWorkspace, running: Callable[[], AbstractSet[Path]] = frozenset) -> None:
        self.workspace = workspace
        self.running = running

    def list_runs(self, seconds: float | None = None) -> list[ListedRun]:
        """Return all runs; the newest run comes first.

        After `seconds`, files of new runs are no longer read; these runs have no summary until a later call reads it.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        everything = sorted(find_run_folders(self.workspace.folder), key=lambda folder: -folder.changed)
        folders = [folder for folder in everything if self._is_nameable(folder.path)]
        with self._open_store() as store:
            kept, names, tags = store.read_summaries(), store.read_display_names(), store.read_tags()
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
        writing = self._list_running_folders()
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
            for folder in everything
            if not self._is_nameable(folder.path)
        ]
        return sorted(runs, key=_get_sort_key)

    def get_run(self, path: str) -> ListedRun:
        """Return the finished or unfinished run at a path; raise a UsageError if there is no run at the path."""
        folder = find_run_folder(self.workspace.resolve_path(path))
        if folder is None:
            raise UsageError(f"The workspace has no run {path!r}.")
        with self._open_store() as store:
            names, tags = store.read_display_names(), store.read_tags()
        return ListedRun(
            path=path,
            name=names.get(path) or path.rsplit("/", 1)[-1],
            tags=tuple(tags.get(path, ())),
            summary=summarize_run(self.workspace.folder / path),
            changed=folder.changed,
            running=path in self._list_running_folders(),
        )

    def get_finished_run(self, path: str) -> ListedRun:
        """Return the run at a path; raise a UsageError if the run is not finished or not readable."""
        run = self.get_run(path)
        if run.running:
            raise UsageError(f"{run.name} is still running; wait until it ends, or stop it.")
        if run.summary.problem:
            raise UsageError(f"{run.name} cannot be opened. {run.summary.problem}")
        return run

    def write_description(self, path: str, *, name: str | None = None, tags: str | None = None) -> None:
        """Check and set the display name or the tags of a run, or both; tags are separated by commas.

        If the name is empty, the name of the folder is displayed. The folder itself is not renamed.
        """
        self.get_run(path)
        given_name = None if name is None else _validate_name(name, path)
        given_tags = None if tags is None else _validate_tags(tags)
        self.set_description(path, given_name, given_tags)

    def set_description(self, path: str, name: str | None, tags: Iterable[str] | None) -> None:
        """Set the display name and the tags of a run without checks; empty values delete them."""
        with self._open_store() as store:
            store.write_description(path, name, tags)

    def get_display_name(self, path: str) -> str:
        """Return the display name that the user gave to a run; empty if the user gave no name."""
        with self._open_store() as store:
            return store.read_display_names().get(path, "")

    def _is_nameable(self, path: str) -> bool:
        if _PLAIN.fullmatch(path):
            return True
        try:
            path.encode()
            self.workspace.resolve_path(path)
        except (UnicodeEncodeError, UsageError):
            return False
        return True

    def _open_store(self) -> _RunStore:
        return _RunStore(self.workspace.state / STUDIO_DATABASE)

    def _list_running_folders(self) -> set[str]:
        folders = (folder.resolve() for folder in self.running())
        return {
            self.workspace.get_relative_name(folder)
            for folder in folders
            if folder.is_relative_to(self.workspace.folder)
        }


def _validate_name(text: str, path: str) -> str:
    name = " ".join(escape_unsafe(text).split())
    if len(name) > LONGEST_NAME:
        raise UsageError(f"The display name of the run has {len(name)} characters; use at most {LONGEST_NAME}.")
    return "" if name == path.rsplit("/", 1)[-1] else name


def _validate_tags(text: str) -> list[str]:
    tags = list(dict.fromkeys(filter(None, (" ".join(escape_unsafe(tag).split()) for tag in re.split("[,;\n]", text)))))
    if long := next((tag for tag in tags if len(tag) > LONGEST_TAG), None):
        raise UsageError(f"The tag {long[:LONGEST_TAG]}… has {len(long)} characters; use at most {LONGEST_TAG}.")
    if len(tags) > MOST_TAGS:
        raise UsageError(f"You have entered {len(tags)} tags; use at most {MOST_TAGS} tags for a run.")
    return tags


def _verify_stamp(signed: str, path: str, text: str) -> str:
    """Return the stamp of a summary without the checksum at its end; empty if the checksum is wrong."""
    stamp, _, checksum = signed.rpartition(" ")
    return stamp if checksum == str(compute_checksum(path, stamp, text)) else ""


def _format_stamp(folder: RunFolder) -> str:
    return f"{_FORMAT} {folder.stamp}"


def _get_sort_key(run: ListedRun) -> tuple[float, str]:
    """Return the sort key for newest runs first: the finish time, or the last change if the finish time is unknown."""
    finished = run.summary.finished_at
    return -(run.changed if finished is None else finished), run.path
