"""The workspace of a studio: the folder in which the studio reads and writes runs, projects and data files."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.files import create_folder, write_text
from tiltmeter.making.project import DATABASE
from tiltmeter.making.project_settings import SETTINGS

# The folder in a workspace for the studio's own files, and the name of the database in this folder.
STATE = ".tiltmeter-studio"
STUDIO_DATABASE = "studio.sqlite"
_RUNS = "runs"
_IGNORED = ".gitignore"
# Maximum depth of the folders that are searched for runs, projects and data files.
DEPTH = 3
_NAME = re.compile(r"[\w][\w .+-]{0,99}")
# Maximum length of the name of a new run, in bytes. File systems allow 255 bytes, but the name of the
# temporary folder of a run is longer than the name of the run.
_MAX_NAME_BYTES = 200


class StudioWorkspace:
    """A folder with runs, projects and data files.

    The name of a file or folder is its path relative to the workspace, with the separator `/`.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise UsageError(f"{folder} is not a folder; give the folder that contains your runs and projects.")
        self.state = self.folder / STATE
        create_folder(self.state)
        # Git must not commit the secret key and the password hashes of reviewers.
        if not (self.state / _IGNORED).exists():
            write_text(self.state / _IGNORED, "*\n")

    def list_projects(self) -> Iterator[Path]:
        """Yield the folders of the test set projects in the workspace, unsorted."""
        return (folder for folder, names in self.walk_folders() if SETTINGS in names)

    def list_data_files(self) -> Iterator[Path]:
        """Yield the JSONL files in the workspace, unsorted."""
        for folder, names in self.walk_folders():
            yield from (folder / name for name in names if name.endswith(".jsonl"))

    def get_project_folder(self, name: str) -> Path:
        """Return the folder of a project; raise a UsageError if there is no project with this name."""
        path = self.resolve_path(name)
        if not (path / SETTINGS).is_file() or any((path / file).is_symlink() for file in (SETTINGS, DATABASE)):
            raise UsageError(f"The workspace has no project {name!r}.")
        return path

    def find_data_file(self, name: str) -> Path:
        """Return the path of a JSONL file; raise a UsageError if there is no such file."""
        path = self.resolve_path(name)
        if path.suffix != ".jsonl" or not path.is_file():
            raise UsageError(f"The workspace has no JSONL file {name!r}.")
        return path

    def get_new_run(self, name: str) -> Path:
        """Return the folder for a new run; raise a UsageError if the folder exists or the name is not allowed."""
        if not _NAME.fullmatch(name) or name.endswith((".", " ")):
            raise UsageError(f"{name!r} is not a valid name of a run; use letters, digits, spaces, dots and hyphens.")
        if len(name.encode()) > _MAX_NAME_BYTES:
            raise UsageError(f"The name of the run is longer than {_MAX_NAME_BYTES} bytes; choose a shorter one.")
        path = self.resolve_path(f"{_RUNS}/{name}")
        if path.exists():
            raise UsageError(f"The run {name!r} already exists; choose another name.")
        return path

    def get_run_folder(self, name: str) -> Path:
        """Return the folder to which a job writes the run with this name."""
        return self.folder / _RUNS / name

    def get_relative_name(self, path: Path) -> str:
        """Return the name of a file or folder: its path relative to the workspace."""
        return path.relative_to(self.folder).as_posix()

    def resolve_path(self, name: str) -> Path:
        """Return the path of the file or folder `name`; raise a UsageError if it is hidden or outside the workspace."""
        parts = name.split("/")
        plain = bool(name) and "\\" not in name and "\0" not in name and ":" not in parts[0]
        if not plain or any(part == "" or part.startswith(".") for part in parts):
            raise UsageError(
                f"{name!r} is not a valid path in the workspace; give a path without hidden names, such as runs/a."
            )
        path = self.folder.joinpath(*parts)
        if not path.resolve().is_relative_to(self.folder):
            raise UsageError(f"{name!r} is a link to a place outside the workspace; copy the files into the workspace.")
        return path

    def walk_folders(self) -> Iterator[tuple[Path, list[str]]]:
        """Yield each folder of the workspace, to a depth of three, with the names of its files.

        Links are not followed. Hidden names and names that are not valid Unicode are left out.
        """
        for current, folders, names in os.walk(self.folder):
            path = Path(current)
            deep = len(path.relative_to(self.folder).parts) >= DEPTH
            folders[:] = [] if deep else list(filter(_is_visible, folders))
            yield path, list(filter(_is_visible, names))


def _is_visible(name: str) -> bool:
    return not name.startswith(".") and not any("\ud800" <= character <= "\udfff" for character in name)
