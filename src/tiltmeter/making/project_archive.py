"""Write a project to a ZIP archive. The archived database is consistent even if people work on the project."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from tiltmeter.errors import UsageError
from tiltmeter.files import create_temporary_folder, write_atomically
from tiltmeter.making.project import DATABASE
from tiltmeter.making.project_settings import SETTINGS
from tiltmeter.making.project_store import ProjectStore


def archive_project(folder: Path, out: Path) -> None:
    """Write the project in `folder` to the ZIP archive `out`. The archive contains one folder, named like `folder`."""
    if not (folder / SETTINGS).is_file():
        raise UsageError(f"{folder} is not a project: it has no {SETTINGS}.")
    if not (folder / DATABASE).is_file():
        raise UsageError(f"{folder} has no {DATABASE} with the items and decisions; restore it from a backup.")
    # Opening the database raises an error if it is damaged.
    ProjectStore(folder / DATABASE).close()
    name = folder.resolve().name
    with create_temporary_folder() as temporary, write_atomically(out) as part:
        database = temporary / DATABASE
        with (
            closing(sqlite3.connect(f"{(folder / DATABASE).resolve().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(database)) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        with ZipFile(part, "w", ZIP_DEFLATED) as archive:
            archive.write(database, f"{name}/{DATABASE}")
            for path in _list_other_files(folder):
                archive.write(path, f"{name}/{path.relative_to(folder).as_posix()}")


def _list_other_files(folder: Path) -> Iterator[Path]:
    """Return the files of a project except its database, hidden files and symbolic links."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in inside.parts)
        if path.is_file() and not path.is_symlink() and not is_hidden and not inside.name.startswith(DATABASE):
            yield path
