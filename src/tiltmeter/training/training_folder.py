"""The folder of a training: what it holds while it goes on, and whether it can be resumed."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from safetensors import SafetensorError

from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import create_folder, write_text
from tiltmeter.models.checkpoint import CONFIG
from tiltmeter.models.head_config import KEY
from tiltmeter.text_files import expand_home, read_json

# Inside the folder of the head, until it is finished.
_UNFINISHED = ".training"
_OWN_PAIRS = "pairs"
_SETTINGS = "settings.json"
_LOCK = ".lock"
# Bytes that are left on a disk that cannot take a file of weights.
_NEARLY_FULL = 64 * 2**20
# The folder of TensorBoard's files in that of the head.
TENSORBOARD = "tensorboard"
# The files that make a head, besides its config: weights of all kinds, and what is saved with a tokenizer.
# fmt: off
_OF_A_HEAD = (
    "*.safetensors", "*.safetensors.index.json", "adapter_config.json", "generation_config.json", "tokenizer*",
    "vocab*", "merges.txt", "*.model", "special_tokens_map.json", "added_tokens.json", "chat_template*",
)
# fmt: on


@dataclass(frozen=True)
class TrainingFolder:
    """The folder for a head, and in it the folder of the unfinished training."""

    out: Path

    @property
    def folder(self) -> Path:
        """Token ids and checkpoints."""
        return self.out / _UNFINISHED

    @property
    def own_pairs(self) -> Path:
        """The pairs that were made for this training."""
        return self.out / _OWN_PAIRS

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.folder / "checkpoints"

    @property
    def finished(self) -> bool:
        """Whether the folder holds a finished head: its config is written last."""
        return (self.out / CONFIG).is_file()

    def check(self, model: str, *, force: bool) -> None:
        """Refuse a folder that cannot become that of a head for this model; nothing of a head or model is changed.

        `force` allows a finished head or another training to be replaced, but no other model and no other files.
        """
        if self.out.exists() and not self.out.is_dir():
            raise UsageError(f"{self.out} is a file; name a folder for the head with --out.")
        if self.out.resolve() == expand_home(model).resolve():
            raise UsageError(f"{self.out} is the folder of the model itself; name another one for the head with --out.")
        if self.finished and not self._is_head:
            raise UsageError(
                f"{self.out} holds a model that is no next-sentence head; name another folder for the head with --out."
            )
        if self.finished and not force:
            self._remove_leftovers()
            raise UsageError(f"{self.out} holds a finished head; name another folder, or pass --force to replace it.")
        if not self.finished and not self._started and self._holds_other_files:
            raise UsageError(f"{self.out} holds other files; name a new folder for the head with --out.")

    def prepare(self, settings: Mapping[str, Any], *, force: bool) -> None:
        """Make the folder, or check that an unfinished training in it has the same settings.

        With `force`, whatever head or training was there is removed.
        """
        if force:
            shutil.rmtree(self.folder, ignore_errors=True)
            if self.finished:
                self._remove_head()
        wanted = json.dumps(settings, indent=2, sort_keys=True, default=str)
        path = self.folder / _SETTINGS
        if path.is_file():
            there, now = read_json(path), json.loads(wanted)
            if not isinstance(there, dict):
                raise DataError(f"{path} is not as a training writes it; pass --force to start anew.")
            if changed := sorted(key for key in {*there, *now} if there.get(key) != now.get(key)):
                raise UsageError(
                    f"{self.out} holds an unfinished training with other settings ({', '.join(changed)}); use the same "
                    "to resume it, or pass --force to start anew."
                )
            return
        write_text(path, wanted)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for one training; a UsageError if another process has it, or if the disk gets full."""
        create_folder(self.out)
        path = self.out / _LOCK
        try:
            with FileLock(path, timeout=0):
                yield
                path.unlink(missing_ok=True)
        except Timeout as error:
            raise UsageError(
                f"Another training is going on in {self.out}; wait until it ends, or name another folder with --out."
            ) from error
        # What is raised by a full disk: Python's, torch's and safetensors' errors.
        except (OSError, RuntimeError, SafetensorError) as error:
            if shutil.disk_usage(self.out).free > _NEARLY_FULL:
                raise
            raise UsageError(
                f"The disk of {self.out} is full; make space, and the same command resumes the training."
            ) from error

    def clear(self) -> None:
        """Remove the token ids and checkpoints of a finished training."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _remove_leftovers(self) -> None:
        """Remove what is left of a training that was killed after its head was finished."""
        if self.folder.exists() or (self.out / _LOCK).exists():
            with suppress(Timeout, OSError), FileLock(self.out / _LOCK, timeout=0):
                self.clear()
                (self.out / _LOCK).unlink(missing_ok=True)

    def _remove_head(self) -> None:
        """Remove the files of a finished head, its config last: one that stays would be loaded with the new ones."""
        for pattern in _OF_A_HEAD:
            for path in self.out.glob(pattern):
                path.unlink()
        shutil.rmtree(self.out / TENSORBOARD, ignore_errors=True)
        (self.out / CONFIG).unlink()

    @property
    def _is_head(self) -> bool:
        try:
            config = read_json(self.out / CONFIG)
        except DataError:
            return False
        return isinstance(config, dict) and KEY in config

    @property
    def _holds_other_files(self) -> bool:
        own = (_UNFINISHED, _OWN_PAIRS, _LOCK)
        return self.out.is_dir() and any(path.name not in own for path in self.out.iterdir())

    @property
    def _started(self) -> bool:
        return (self.folder / _SETTINGS).is_file()


def compute_files_digest(files: list[Path]) -> str:
    """SHA-256 of the contents of files, in this order."""
    found = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()
