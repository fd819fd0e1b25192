"""The folder of a next-sentence head; during a training it also contains the unfinished files."""

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

# The subfolder with the files of an unfinished training.
_UNFINISHED = ".training"
_OWN_PAIRS = "pairs"
_SETTINGS = "settings.json"
_LOCK = ".lock"
# Number of bytes. If less disk space is free, the disk counts as full, because a file of weights does not fit.
_NEARLY_FULL = 64 * 2**20
# The subfolder with the files of TensorBoard.
TENSORBOARD = "tensorboard"
# The files of a head other than its config: weights and tokenizer.
# fmt: off
_HEAD_FILES = (
    "*.safetensors", "*.safetensors.index.json", "adapter_config.json", "generation_config.json", "tokenizer*",
    "vocab*", "merges.txt", "*.model", "special_tokens_map.json", "added_tokens.json", "chat_template*",
)
# fmt: on


@dataclass(frozen=True)
class TrainingFolder:
    """The folder `out` of a head, with a subfolder for an unfinished training."""

    out: Path

    @property
    def folder(self) -> Path:
        """The subfolder with the token ids and checkpoints of an unfinished training."""
        return self.out / _UNFINISHED

    @property
    def own_pairs(self) -> Path:
        """The subfolder with sentence pairs that were made for this training."""
        return self.out / _OWN_PAIRS

    @property
    def checkpoints(self) -> Path:
        """The subfolder with the checkpoints."""
        return self.folder / "checkpoints"

    @property
    def is_finished(self) -> bool:
        """Whether the folder contains a finished head, that is, its config, which is written last."""
        return (self.out / CONFIG).is_file()

    def reject_unusable_folder(self, model: str, *, force: bool) -> None:
        """Raise a UsageError if the folder cannot be used to train a head for this model.

        With `force`, a finished head or another training may be replaced, but not another model or other files.
        """
        if self.out.exists() and not self.out.is_dir():
            raise UsageError(f"{self.out} is a file; name a folder for the head with --out.")
        if self.out.resolve() == expand_home(model).resolve():
            raise UsageError(f"{self.out} is the folder of the model itself; name another folder with --out.")
        if self.is_finished and not self._is_head:
            raise UsageError(
                f"{self.out} contains a model that is not a next-sentence head; name another folder with --out."
            )
        if self.is_finished and not force:
            self._remove_leftovers()
            raise UsageError(
                f"{self.out} contains a finished head; name another folder with --out, or replace it with --force."
            )
        if not self.is_finished and not self._has_started and self._has_other_files:
            raise UsageError(f"{self.out} contains other files; name a new folder with --out.")

    def create_folder(self, settings: Mapping[str, Any], *, force: bool) -> None:
        """Create the folder; raise a UsageError if it contains an unfinished training with other settings.

        With `force`, an existing head or unfinished training is deleted.
        """
        if force:
            shutil.rmtree(self.folder, ignore_errors=True)
            if self.is_finished:
                self._remove_head()
        text = json.dumps(settings, indent=2, sort_keys=True, default=str)
        path = self.folder / _SETTINGS
        if path.is_file():
            old, new = read_json(path), json.loads(text)
            if not isinstance(old, dict):
                raise DataError(f"{path} is damaged; start again with --force.")
            if changed := sorted(key for key in {*old, *new} if old.get(key) != new.get(key)):
                raise UsageError(
                    f"{self.out} contains an unfinished training with other settings ({', '.join(changed)}); use the "
                    "same settings to continue it, or start again with --force."
                )
            return
        write_text(path, text)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder within the context; raise a UsageError if another process uses it or the disk is full."""
        create_folder(self.out)
        path = self.out / _LOCK
        try:
            with FileLock(path, timeout=0):
                yield
                path.unlink(missing_ok=True)
        except Timeout as error:
            raise UsageError(
                f"{self.out} is used by another training; wait until it ends, or name another folder with --out."
            ) from error
        # These classes are raised by Python, torch and safetensors if the disk is full.
        except (OSError, RuntimeError, SafetensorError) as error:
            if shutil.disk_usage(self.out).free > _NEARLY_FULL:
                raise
            raise UsageError(
                f"The disk of {self.out} is full; free disk space and run the same command again to continue."
            ) from error

    def delete_training_files(self) -> None:
        """Delete the token ids and checkpoints of a finished training."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _remove_leftovers(self) -> None:
        """Delete remaining training files if the process was killed after the head was finished."""
        if self.folder.exists() or (self.out / _LOCK).exists():
            with suppress(Timeout, OSError), FileLock(self.out / _LOCK, timeout=0):
                self.delete_training_files()
                (self.out / _LOCK).unlink(missing_ok=True)

    def _remove_head(self) -> None:
        """Delete the files of an earlier head, because transformers would load them with the new files.

        The config is deleted last.
        """
        for pattern in _HEAD_FILES:
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
    def _has_other_files(self) -> bool:
        own = (_UNFINISHED, _OWN_PAIRS, _LOCK)
        return self.out.is_dir() and any(path.name not in own for path in self.out.iterdir())

    @property
    def _has_started(self) -> bool:
        return (self.folder / _SETTINGS).is_file()


def compute_files_digest(files: list[Path]) -> str:
    """Return the SHA-256 of the contents of files, in the order of the list."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
