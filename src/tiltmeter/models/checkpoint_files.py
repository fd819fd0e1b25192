"""List the files that are loaded from a checkpoint, and compute the hash of these files.

The hash is part of the key of stored answers. It covers every file that is loaded. It covers no other file (README,
optimizer states, the same weights in another format, chat template), so that a change of such a file does not make
stored answers unusable.
"""

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from transformers.dynamic_module_utils import get_relative_import_files
from transformers.tokenization_utils_base import (
    ADDED_TOKENS_FILE,
    FULL_TOKENIZER_FILE,
    SPECIAL_TOKENS_MAP_FILE,
    TOKENIZER_CONFIG_FILE,
)

from tiltmeter.models.checkpoint import CONFIG, Checkpoint
from tiltmeter.text_files import read_json

# Files that `from_pretrained` reads for every tokenizer, in addition to the vocabulary files of the tokenizer's class.
_TOKENIZER_FILES = (ADDED_TOKENS_FILE, SPECIAL_TOKENS_MAP_FILE, TOKENIZER_CONFIG_FILE, FULL_TOKENIZER_FILE)
# Vocabulary files that `from_pretrained` reads if there is no tokenizer.json, and tokenizer.json files for other
# versions of transformers.
_TOKENIZER_PATTERNS = ("tekken.json", "tokenizer.model*", "tiktoken.model", "tokenizer.*.json")


def list_loaded_files(checkpoint: Checkpoint, tokenizer: Any, *, trust_remote_code: bool) -> list[Path]:
    """Return the files of a model's weights, config and tokenizer, and the files of its code if the code is trusted."""
    if checkpoint.gguf:
        return checkpoint.weight_files
    folder = checkpoint.folder
    found = [*checkpoint.weight_files, *checkpoint.weight_index, *_list_config_files(folder)]
    found += list_tokenizer_files(folder, tokenizer)
    if trust_remote_code:
        found += _list_code_files(folder)
    return sorted({file for file in found if file.is_file()})


def list_tokenizer_files(folder: Path, tokenizer: Any) -> list[Path]:
    """Return the files in a folder that `from_pretrained` reads to load a tokenizer."""
    names = {*_TOKENIZER_FILES, *getattr(tokenizer, "vocab_files_names", {}).values()}
    found = [folder / name for name in names if isinstance(name, str)]
    found += [file for pattern in _TOKENIZER_PATTERNS for file in folder.glob(pattern)]
    return sorted({file for file in found if file.is_file()})


def compute_files_digest(files: Iterable[Path]) -> str:
    """Return the SHA-256 of the names and contents of files."""
    ordered = sorted(files)
    with ThreadPoolExecutor() as pool:
        digests = pool.map(_compute_sha256, ordered)
        lines = [f"{file.name} {digest}" for file, digest in zip(ordered, digests, strict=True)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _list_config_files(folder: Path) -> list[Path]:
    """Return the config file, and the files for other versions of transformers under its key `configuration_files`."""
    config = folder / CONFIG
    return [config, *(folder / str(name) for name in _read_optional_json(config).get("configuration_files") or ())]


def _list_code_files(folder: Path) -> list[Path]:
    """Return the code files that the config and tokenizer config name, and the files that these code files import."""
    found: list[Path] = []
    for file in (folder / CONFIG, folder / TOKENIZER_CONFIG_FILE):
        for reference in _list_references((_read_optional_json(file).get("auto_map") or {}).values()):
            repository, _, class_name = reference.rpartition("--")
            module = f"{class_name.partition('.')[0]}.py"
            path = _find_remote_module(repository, module) if repository else folder / module
            if path is not None and path.is_file():
                found += [path, *map(Path, get_relative_import_files(path))]
    return found


def _list_references(values: Iterable[Any]) -> Iterable[str]:
    # The entry of a tokenizer is a list with two classes: a slow one and a fast one.
    for value in values:
        yield from (entry for entry in (value if isinstance(value, list | tuple) else [value]) if entry)


def _find_remote_module(repository: str, module: str) -> Path | None:
    from transformers.utils.hub import cached_file

    found = cached_file(repository, module, _raise_exceptions_for_missing_entries=False)
    return Path(found) if found else None


def _read_optional_json(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    read = read_json(file)
    return read if isinstance(read, dict) else {}


def _compute_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
