"""Reading GGUF files with transformers in a third of the usual time, and caching their config and tokenizer.

Saves: the first opening of the built-in model SmolLM2-135M-Instruct takes 3 seconds instead of 11, and loading its
weights takes 4 seconds instead of 13. The time was lost in three places: `gguf.GGUFReader` creates a NumPy array for
every token, merge and score, and creating an array from a memory map takes four times as long as from a plain array;
config and tokenizer each read the whole file; transformers builds a table of all tensor names once for every module of
the model.
Relies on: transformers looks up `GGUFReader` and `get_tensor_name_map` in the package `gguf` at every call. With a
version of transformers that looks them up only once, opening is slower, with the same result.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from functools import cache
from importlib import metadata
from io import StringIO
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import transformers
from transformers import AutoConfig, AutoTokenizer

from tiltmeter.errors import DataError, ModelError
from tiltmeter.files import (
    build_write_error,
    create_shared_folder,
    create_temporary_folder,
    lock_folder,
    make_readable,
    write_text,
)
from tiltmeter.text_files import read_json

# The name of the file with the digests of all other files in a cache folder.
_DIGESTS = "digests.json"
# The lock is needed because replacing functions of the package `gguf` affects the whole process.
_PATCH_LOCK = Lock()


@contextmanager
def read_gguf_once(files: Mapping[str, str]) -> Iterator[None]:
    """Let transformers read a GGUF file only once within the context, and hide the progress bar of transformers."""
    if "gguf_file" not in files:
        yield
        return
    import gguf

    replaced = {"GGUFReader": cache(_build_array_reader()), "get_tensor_name_map": cache(gguf.get_tensor_name_map)}
    # The error stream is redirected, because transformers has no option to turn off this progress bar.
    with _PATCH_LOCK, redirect_stderr(StringIO()):
        originals = {name: getattr(gguf, name) for name in replaced}
        _set_attributes(gguf, replaced)
        try:
            yield
        finally:
            _set_attributes(gguf, originals)


def extract_config_files(file: Path, folder: Path) -> Path:
    """Extract the config and tokenizer of a GGUF file into a cache folder, if the folder is missing or not valid.

    Returns the folder. Raises a ModelError if the GGUF file is invalid, and a UsageError if the cache is not writable.
    """
    if not _is_valid(folder):
        create_shared_folder(folder.parent)
        with create_temporary_folder(folder.parent) as part:
            _write_config_files(file, part)
            write_text(part / _DIGESTS, json.dumps(_describe_folder(part), indent=1))
            make_readable(part)
            with lock_folder(folder.parent):
                _replace_folder(part, folder)
    return folder


def _write_config_files(file: Path, part: Path) -> None:
    arguments = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    try:
        with read_gguf_once(arguments):
            AutoConfig.from_pretrained(**arguments).save_pretrained(part)
            AutoTokenizer.from_pretrained(**arguments).save_pretrained(part)
    except Exception as error:  # transformers and gguf raise many classes of errors
        raise ModelError(f"{file} cannot be read as a GGUF file: {error}") from error


def _replace_folder(part: Path, folder: Path) -> None:
    """Rename the folder `part` to `folder`; if `folder` already exists and is damaged, delete it first."""
    try:
        if folder.is_dir() and not _is_valid(folder):
            damaged = folder.with_name(f"{part.stem}-damaged.part")  # deleted by another run if this process is killed
            folder.rename(damaged)
            shutil.rmtree(damaged, ignore_errors=True)
        if not folder.exists():  # another process may have extracted the files in the meantime
            part.rename(folder)
    except OSError as error:
        raise build_write_error(folder, error) from error


def _is_valid(folder: Path) -> bool:
    """Return whether the files in a folder are unchanged and come from the installed transformers and gguf versions."""
    try:
        return bool(read_json(folder / _DIGESTS) == _describe_folder(folder))
    except (DataError, OSError):
        return False


def _describe_folder(folder: Path) -> dict[str, Any]:
    """Return the installed versions of transformers and gguf, and the digest of each file in a folder."""
    files = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
        if file.name != _DIGESTS
    }
    return {"transformers": transformers.__version__, "gguf": metadata.version("gguf"), "files": files}


def _set_attributes(module: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(module, name, value)


@cache
def _build_array_reader() -> Any:
    """Return a subclass of `gguf.GGUFReader` whose `data` is a plain NumPy array instead of an `np.memmap`."""
    import gguf

    class PlainReader(gguf.GGUFReader):
        @property
        def data(self) -> Any:
            return self._data

        @data.setter
        def data(self, mapped: Any) -> None:
            self._data = np.asarray(mapped)

    return PlainReader
