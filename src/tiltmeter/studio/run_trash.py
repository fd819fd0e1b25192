"""The trash for deleted runs. For 30 days, a run can be restored with its display name and tags."""

import json
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.files import create_folder, write_text
from tiltmeter.runs.run_files import MANIFEST
from tiltmeter.studio.run_index import RunIndex

DAYS = 30
# If a run has no manifest, and one of its files was changed within this many seconds, it may still be being written.
_WRITING = 60.0
_ORIGIN, _RUN = "origin.json", "run"
_IDENTIFIER = re.compile(r"[0-9a-f]{16}")


def _get_time() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class DeletedRun:
    """A run in the trash, with the path, display name and tags that it had before it was deleted.

    `deleted` is the time when the run was moved to the trash; `identifier` is the name of its folder in the trash.
    """

    path: str
    given_name: str
    tags: tuple[str, ...]
    deleted: str
    identifier: str = ""

    @property
    def name(self) -> str:
        """Return the display name of the run, or the name of its folder if the user gave no name."""
        return self.given_name or self.path.rsplit("/", 1)[-1]

    @property
    def deletion_time(self) -> datetime:
        """Return the time when the run will be deleted permanently."""
        return datetime.fromisoformat(self.deleted) + timedelta(days=DAYS)


class RunTrash:
    """The trash of a workspace; it has one folder for each deleted run, with the run and a file about its origin."""

    def __init__(self, index: RunIndex, now: Callable[[], datetime] = _get_time) -> None:
        self._index = index
        self._workspace = index.workspace
        self._folder = self._workspace.state / "trash"
        self._now = now

    def delete_run(self, path: str) -> DeletedRun:
        """Move a run to the trash; raise a UsageError if the run is still being written."""
        run = self._index.get_run(path)
        if run.running:
            raise UsageError(f"{run.name} is still running; stop it before you delete it.")
        if self._is_being_written(self._workspace.resolve_path(path)):
            raise UsageError(
                f"{run.name} was changed a moment ago and may still be written; wait a minute and try again."
            )
        deleted = DeletedRun(
            path,
            self._index.get_display_name(path),
            run.tags,
            self._now().isoformat(timespec="seconds"),
            secrets.token_hex(8),
        )
        place = self._folder / deleted.identifier
        create_folder(place)
        write_text(place / _ORIGIN, json.dumps(asdict(deleted), ensure_ascii=False, indent=1) + "\n")
        try:
            (self._workspace.folder / path).rename(place / _RUN)
        except OSError as error:
            shutil.rmtree(place, ignore_errors=True)
            raise UsageError(f"{run.name} cannot be moved to the trash: {error.strerror}.") from error
        self._index.set_description(path, "", ())
        return deleted

    def list_deleted_runs(self) -> list[DeletedRun]:
        """Return the runs in the trash; the run that was deleted last comes first."""
        runs = [deleted for place in self._list_deleted_folders() if (deleted := _read_deleted(place))]
        return sorted(runs, key=lambda deleted: deleted.deleted, reverse=True)

    def restore_run(self, identifier: str) -> str:
        """Move a run from the trash back to its former path, and return the path.

        If the former path is in use, a number is added to it.
        """
        place = self._folder / identifier
        deleted = _read_deleted(place) if _IDENTIFIER.fullmatch(identifier) else None
        if deleted is None:
            raise UsageError("This run is no longer in the trash.")
        path = self._find_free_path(deleted.path)
        target = self._workspace.resolve_path(path)
        create_folder(target.parent)
        try:
            (place / _RUN).rename(target)
        except OSError as error:
            raise UsageError(f"{deleted.name} cannot be restored: {error.strerror}.") from error
        shutil.rmtree(place, ignore_errors=True)
        self._index.set_description(path, deleted.given_name, deleted.tags)
        return path

    def delete_expired_runs(self) -> int:
        """Delete runs permanently that have been in the trash for 30 days; return the number of removed folders.

        Folders that an interrupted deletion left behind are also removed. A run without a readable origin file is kept.
        """
        emptied = 0
        for place in self._list_deleted_folders():
            deleted = _read_deleted(place)
            if deleted is not None and deleted.deletion_time < self._now():
                shutil.rmtree(place / _RUN, ignore_errors=True)
            if not (place / _RUN).exists():
                (place / _ORIGIN).unlink(missing_ok=True)
                # `rmdir` fails if the folder is not empty.
                with suppress(OSError):
                    place.rmdir()
                    emptied += 1
        return emptied

    def _is_being_written(self, folder: Path) -> bool:
        """Return whether a command may still be writing the run in a folder.

        A command removes the manifest before it writes other files, and writes the manifest last.
        """
        if (folder / MANIFEST).exists():
            return False
        changed = [folder.stat().st_mtime]
        for entry in folder.iterdir():
            # A temporary file may have been removed since `iterdir`.
            with suppress(OSError):
                changed.append(entry.lstat().st_mtime)
        return self._now().timestamp() - max(changed) < _WRITING

    def _list_deleted_folders(self) -> Iterator[Path]:
        if self._folder.is_dir():
            yield from (place for place in self._folder.iterdir() if _IDENTIFIER.fullmatch(place.name))

    def _find_free_path(self, path: str) -> str:
        numbered = path
        number = 2
        while (self._workspace.resolve_path(numbered)).exists():
            numbered, number = f"{path}-{number}", number + 1
        return numbered


def _read_deleted(place: Path) -> DeletedRun | None:
    """Return the run in a folder of the trash; None if the folder is incomplete or its origin file is not readable."""
    if not (place / _RUN).is_dir():
        return None
    try:
        fields = json.loads((place / _ORIGIN).read_bytes())
        return DeletedRun(**{**fields, "tags": tuple(fields["tags"]), "identifier": place.name})
    except (OSError, ValueError, TypeError, KeyError):
        return None
