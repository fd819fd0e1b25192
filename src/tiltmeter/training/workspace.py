"""The folder of a training: what it holds while it goes on, and whether it can be resumed."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.files import write_text
from tiltmeter.models.checkpoint import CONFIG

# Inside the folder of the head, until it is finished.
_UNFINISHED = ".training"
# The pairs that were made for this training.
OWN_PAIRS = "pairs"
_SETTINGS = "settings.json"


@dataclass(frozen=True)
class Workspace:
    """The folder for a head, and in it the folder of the unfinished training."""

    out: Path

    @property
    def folder(self) -> Path:
        """Token ids and checkpoints."""
        return self.out / _UNFINISHED

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.folder / "checkpoints"

    @property
    def finished(self) -> bool:
        """Whether the folder holds a finished head: its config is written last."""
        return (self.out / CONFIG).is_file()

    def prepare(self, settings: Mapping[str, Any], *, force: bool) -> None:
        """Make the folder, or check that an unfinished training in it has the same settings.

        With `force`, whatever training was there is removed.
        """
        if self.out.exists() and not self.out.is_dir():
            raise UsageError(f"{self.out} is a file; name a folder for the head with --out.")
        if force:
            shutil.rmtree(self.folder, ignore_errors=True)
            (self.out / CONFIG).unlink(missing_ok=True)
        elif self.finished:
            raise UsageError(f"{self.out} holds a finished model; name another folder, or pass --force to replace it.")
        elif (
            self.out.is_dir()
            and any(path.name not in (_UNFINISHED, OWN_PAIRS) for path in self.out.iterdir())
            and not self._started
        ):
            raise UsageError(f"{self.out} holds other files; name a new folder for the head with --out.")
        wanted = json.dumps(settings, indent=2, sort_keys=True, default=str)
        path = self.folder / _SETTINGS
        if path.is_file():
            there = json.loads(path.read_text(encoding="utf-8"))
            now = json.loads(wanted)
            if changed := sorted(key for key in {*there, *now} if there.get(key) != now.get(key)):
                raise UsageError(
                    f"{self.out} holds an unfinished training with other settings ({', '.join(changed)}); use the same "
                    "to resume it, or pass --force to start anew."
                )
            return
        write_text(path, wanted)

    def clear(self) -> None:
        """Remove the token ids and checkpoints of a finished training."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _holds_other_files(self) -> bool:
        own = (_UNFINISHED, OWN_PAIRS)
        return self.out.is_dir() and any(path.name not in own for path in self.out.iterdir())

    @property
    def _started(self) -> bool:
        return (self.folder / _SETTINGS).is_file()


def files_digest(files: list[Path]) -> str:
    """SHA-256 of the contents of files, in this order."""
    found = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()
