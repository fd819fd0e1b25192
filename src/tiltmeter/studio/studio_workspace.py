"""The workspace: the folder that the studio reads and writes."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.files import create_folder, write_text
from tiltmeter.making.project import DATABASE
from tiltmeter.making.project_settings import SETTINGS

# The folder of the studio's own files in a workspace, and the database in it.
STATE = ".tiltmeter-studio"
STUDIO_DATABASE = "studio.sqlite"
_RUNS = "runs"
_IGNORED = ".gitignore"
# Levels of folders that are searched for runs and projects.
DEPTH = 3
_NAME = re.compile(r"[\w][\w .+-]{0,99}")
# The longest name of a new run in bytes; file systems allow 255, and temporary folders need a suffix.
_LONGEST_NAME = 200


class StudioWorkspace:
    """A folder with runs, projects and data files; names are paths relative to it, with `/`."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise UsageError(f"{folder} is not a folder; give the folder for your runs and projects.")
        self.state = self.folder / STATE
        create_folder(self.state)
        # The secret and the passwords of reviewers must not be committed.
        if not (self.state / _IGNORED).exists():
            write_text(self.state / _IGNORED, "*\n")

    def list_projects(self) -> Iterator[Path]:
        """Yield the folders of projects, unsorted."""
        return (folder for folder, names in self.walk() if SETTINGS in names)

    def data_files(self) -> Iterator[Path]:
        """Yield the JSONL files, unsorted."""
        for folder, names in self.walk():
            yield from (folder / name for name in names if name.endswith(".jsonl"))

    def project(self, name: str) -> Path:
        """Return the folder of a project."""
        path = self.path(name)
        if not (path / SETTINGS).is_file() or any((path / file).is_symlink() for file in (SETTINGS, DATABASE)):
            raise UsageError(f"The workspace has no project {name!r}.")
        return path

    def find_data_file(self, name: str) -> Path:
        """Return the path of a JSONL file."""
        path = self.path(name)
        if path.suffix != ".jsonl" or not path.is_file():
            raise UsageError(f"The workspace has no JSONL file {name!r}.")
        return path

    def get_new_run(self, name: str) -> Path:
        """Return the folder for a new run; raise a UsageError if it exists or the name is not allowed."""
        if not _NAME.fullmatch(name) or name.endswith((".", " ")):
            raise UsageError(f"{name!r} is not a valid name of a run; use letters, digits, spaces, dots and hyphens.")
        if len(name.encode()) > _LONGEST_NAME:
            raise UsageError(f"The name of the run is longer than {_LONGEST_NAME} bytes; choose a shorter one.")
        path = self.path(f"{_RUNS}/{name}")
        if path.exists():
            raise UsageError(f"The run {name!r} already exists; choose another name.")
        return path

    def get_run_folder(self, name: str) -> Path:
        """Return the folder for the run of a job."""
        return self.folder / _RUNS / name

    def name_of(self, path: Path) -> str:
        """Return the name of a folder or file in the workspace."""
        return path.relative_to(self.folder).as_posix()

    def path(self, name: str) -> Path:
        """Return the path for a name; raise a UsageError if it is outside the workspace or hidden."""
        parts = name.split("/")
        plain = bool(name) and "\\" not in name and "\0" not in name and ":" not in parts[0]
        if not plain or any(part == "" or part.startswith(".") for part in parts):
            raise UsageError(f"{name!r} is not a valid name in the workspace.")
        path = self.folder.joinpath(*parts)
        if not path.resolve().is_relative_to(self.folder):
            raise UsageError(f"{name!r} is a link to a place outside the workspace.")
        return path

    def walk(self) -> Iterator[tuple[Path, list[str]]]:
        """Yield every folder down to the third level with the names of its files.

        Links are not followed. Hidden names and names that are not valid Unicode are left out.
        """
        for current, folders, names in os.walk(self.folder):
            path = Path(current)
            deep = len(path.relative_to(self.folder).parts) >= DEPTH
            folders[:] = [] if deep else list(filter(_is_visible, folders))
            yield path, list(filter(_is_visible, names))


def _is_visible(name: str) -> bool:
    return not name.startswith(".") and not any("\ud800" <= character <= "\udfff" for character in name)
