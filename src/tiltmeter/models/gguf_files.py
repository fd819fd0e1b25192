"""GGUF files as transformers reads them, in a third of the time; their config and tokenizer in files of a cache.

Saves: the embedded model is opened for the first time in 3 seconds instead of 11, and its weights are loaded in 4
instead of 13. `gguf.GGUFReader` makes a NumPy array for every token, merge and score, and arrays of a memory map take
four times as long to make as plain ones; config and tokenizer each read the whole file. To find the names of tensors,
transformers makes a table of all names once for every module of the model.
Relies on: transformers taking `GGUFReader` and `get_tensor_name_map` from the package `gguf` at every call. A version
that does not is as slow as before, with the same result.
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

# The file of a folder in the cache with the digests of the others.
_DIGESTS = "digests.json"
# Names in the package `gguf` are replaced for the whole process.
_READING = Lock()


@contextmanager
def read_gguf_once(files: Mapping[str, str]) -> Iterator[None]:
    """A context for transformers to load `files`: a GGUF file is read once in it, and without a progress bar."""
    if "gguf_file" not in files:
        yield
        return
    import gguf

    replaced = {"GGUFReader": cache(_build_plain_reader()), "get_tensor_name_map": cache(gguf.get_tensor_name_map)}
    # The progress bar cannot be turned off.
    with _READING, redirect_stderr(StringIO()):
        kept = {name: getattr(gguf, name) for name in replaced}
        _set_attributes(gguf, replaced)
        try:
            yield
        finally:
            _set_attributes(gguf, kept)


def extract_config_files(file: Path, folder: Path) -> Path:
    """The folder with the config and tokenizer of a GGUF file, extracted where it is missing, damaged or outdated.

    `folder` is in a cache, and readable by all its users. Raises ModelError or UsageError if it cannot be made.
    """
    if not _is_sound(folder):
        create_shared_folder(folder.parent)
        with create_temporary_folder(folder.parent) as part:
            _write_config_files(file, part)
            write_text(part / _DIGESTS, json.dumps(_describe_folder(part), indent=1))
            make_readable(part)
            with lock_folder(folder.parent):
                _replace_folder(part, folder)
    return folder


def _write_config_files(file: Path, part: Path) -> None:
    """Write config and tokenizer."""
    inside = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    try:
        with read_gguf_once(inside):
            AutoConfig.from_pretrained(**inside).save_pretrained(part)
            AutoTokenizer.from_pretrained(**inside).save_pretrained(part)
    except Exception as error:  # of transformers or of the package gguf
        raise ModelError(f"{file} cannot be read as a GGUF file: {error}") from error


def _replace_folder(part: Path, folder: Path) -> None:
    """Rename a folder, and delete one in its place that is not sound."""
    try:
        if folder.is_dir() and not _is_sound(folder):
            damaged = folder.with_name(f"{part.stem}-damaged.part")  # swept up later if this process is killed
            folder.rename(damaged)
            shutil.rmtree(damaged, ignore_errors=True)
        if not folder.exists():  # another run may have extracted it meanwhile
            part.rename(folder)
    except OSError as error:
        raise build_write_error(folder, error) from error


def _is_sound(folder: Path) -> bool:
    """Whether a folder holds exactly the files that this version of transformers wrote, as it wrote them."""
    try:
        return bool(read_json(folder / _DIGESTS) == _describe_folder(folder))
    except (DataError, OSError):
        return False


def _describe_folder(folder: Path) -> dict[str, Any]:
    """The versions that extracted a folder now, and the digest of each of its files."""
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
def _build_plain_reader() -> Any:
    """`gguf.GGUFReader` on plain arrays; they, too, are read from the file only where they are used."""
    import gguf

    class PlainReader(gguf.GGUFReader):
        """Its `data` is the file, as an array without the bookkeeping of `np.memmap`."""

        @property
        def data(self) -> Any:
            return self._data

        @data.setter
        def data(self, mapped: Any) -> None:
            self._data = np.asarray(mapped)

    return PlainReader
