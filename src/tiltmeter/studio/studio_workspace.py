"""The workspace: the only folder that the studio reads and writes."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.files import create_folder, write_text
from tiltmeter.making.project import DATABASE
from tiltmeter.making.project_settings import SETTINGS

# What the studio itself keeps in a workspace, and its database there.
STATE = ".tiltmeter-studio"
STUDIO_DATABASE = "studio.sqlite"
_RUNS = "runs"
_IGNORED = ".gitignore"
# Runs and projects are looked for so many folders down.
DEPTH = 3
_NAME = re.compile(r"[\w][\w .+-]{0,99}")
# The longest name of a new run in bytes: file systems allow 255, and temporary folders have longer names.
_LONGEST_NAME = 200


class StudioWorkspace:
    """A folder with runs, making projects and data files. Names are paths inside it, with `/`."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise UsageError(f"{folder} is not a folder; name the one that has, or will have, your runs and projects.")
        self.state = self.folder / STATE
        create_folder(self.state)
        # The secret and the passwords of reviewers belong into no repository.
        if not (self.state / _IGNORED).exists():
            write_text(self.state / _IGNORED, "*\n")

    def list_projects(self) -> Iterator[Path]:
        """The folders of making projects, in no order."""
        return (folder for folder, names in self.walk() if SETTINGS in names)

    def data_files(self) -> Iterator[Path]:
        """The JSONL files, in no order."""
        for folder, names in self.walk():
            yield from (folder / name for name in names if name.endswith(".jsonl"))

    def project(self, name: str) -> Path:
        """The folder of a project."""
        path = self.path(name)
        if not (path / SETTINGS).is_file() or any((path / file).is_symlink() for file in (SETTINGS, DATABASE)):
            raise UsageError(f"There is no project {name!r} in the workspace.")
        return path

    def find_data_file(self, name: str) -> Path:
        """A JSONL file."""
        path = self.path(name)
        if path.suffix != ".jsonl" or not path.is_file():
            raise UsageError(f"There is no JSONL file {name!r} in the workspace.")
        return path

    def get_new_run(self, name: str) -> Path:
        """The folder of a run that is to be made; it must not exist."""
        if not _NAME.fullmatch(name) or name.endswith((".", " ")):
            raise UsageError(f"{name!r} cannot name a run; use letters, digits, spaces, dots and hyphens.")
        if len(name.encode()) > _LONGEST_NAME:
            raise UsageError(f"The name of a run is at most {_LONGEST_NAME} bytes long; choose a shorter one.")
        path = self.path(f"{_RUNS}/{name}")
        if path.exists():
            raise UsageError(f"There is a run {name!r} already; choose another name.")
        return path

    def get_run_folder(self, name: str) -> Path:
        """The folder that the run of a job has or will have."""
        return self.folder / _RUNS / name

    def name_of(self, path: Path) -> str:
        """The name of a folder or file in the workspace."""
        return path.relative_to(self.folder).as_posix()

    def path(self, name: str) -> Path:
        """A path by its name; a UsageError if it is outside the workspace, or hidden."""
        parts = name.split("/")
        plain = bool(name) and "\\" not in name and "\0" not in name and ":" not in parts[0]
        if not plain or any(part == "" or part.startswith(".") for part in parts):
            raise UsageError(f"{name!r} is not a name in the workspace.")
        path = self.folder.joinpath(*parts)
        if not path.resolve().is_relative_to(self.folder):
            raise UsageError(f"{name!r} leads out of the workspace.")
        return path

    def walk(self) -> Iterator[tuple[Path, list[str]]]:
        """Every folder down to the third level with the names of its files; links are not followed.

        What is hidden is left out, and so are names that are not text, which no page could show.
        """
        for current, folders, names in os.walk(self.folder):
            path = Path(current)
            deep = len(path.relative_to(self.folder).parts) >= DEPTH
            folders[:] = [] if deep else list(filter(_is_visible, folders))
            yield path, list(filter(_is_visible, names))


def _is_visible(name: str) -> bool:
    return not name.startswith(".") and not any("\ud800" <= character <= "\udfff" for character in name)
