"""Bad folders of models: settings, files, and weights of wrong sizes."""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from perf.bad_input_cases.scene import Case, Scene, broken_files, edits

_SIZES = ("n_embd", "n_head", "n_layer", "n_positions", "vocab_size")
_BAD_SIZES = {"0": 0, "-1": -1, "a million million": 10**12, "one more": None}


def cases(scene: Scene) -> Iterator[Case]:
    """Yield runs with bad folders, broken links, and pickles that fill the memory."""
    folder = Path(scene.model)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for name, changed in edits(config):
        if name.split()[0] not in _FREE:
            yield _run(scene, f"config: {name}", _config(changed))
    for size in _SIZES:
        for name, value in _BAD_SIZES.items():
            yield _run(scene, f"config: {size} {name}", _config({**config, size: value or config[size] + 1}))
    for file in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        for way, broken in broken_files(folder / file):
            if (file, way) != ("tokenizer_config.json", "is missing"):
                yield _run(scene, f"{file} {way}", _broken(file, broken))
    for name, prepare in _WEIGHTS.items():
        yield _run(scene, name, prepare)
    for name in (
        "~nobody-here/model",
        "x" * 300,
        "\udcff",
        "",
        "a" * 100 + "/" + "b" * 100,
        "model+",
        "+model",
        "/dev/null",
    ):
        yield Case(f"a model called {name[:20]!r}", scene.measuring(model=name), scores="out")


# Settings that do not change answers, or whose defaults are the values of the file.
_FREE = ("transformers_version", "dtype", "architectures.0")


def _run(scene: Scene, name: str, change: Callable[[Path], None]) -> Case:
    def prepare(folder: Path) -> None:
        shutil.copytree(scene.model, folder / "model")
        change(folder / "model")

    return Case(name, scene.measuring(model="model"), prepare, scores="out")


def _config(values: Any) -> Callable[[Path], None]:
    return lambda folder: _rewrite(folder / "config.json", json.dumps(values))


def _rewrite(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _broken(name: str, broken: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda folder: broken(folder / name)


def _larger_vocabulary(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {token: index + 5000 for token, index in vocabulary.items()}
    tokenizer["added_tokens"] = []
    _rewrite(folder / "tokenizer.json", json.dumps(tokenizer))


def _tensors(change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        tensors = change(load_file(folder / "model.safetensors"))
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return prepare


def _pickled(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        make(folder / "pytorch_model.bin")

    return prepare


def _zip_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/data.pkl", b"\x80\x02}." + bytes(300_000_000))


def _pickle_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/data.pkl", b"\x80\x02](" + b"]" * 40_000_000 + b"e.")


def _index(entries: dict[str, Any]) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "model-1.safetensors")
        _rewrite(folder / "model.safetensors.index.json", json.dumps(entries))

    return prepare


def _first(tensors: dict[str, torch.Tensor]) -> str:
    return next(name for name in sorted(tensors) if name.endswith("c_attn.weight"))


_WEIGHTS: dict[str, Callable[[Path], None]] = {
    "a vocabulary larger than the embeddings": _larger_vocabulary,
    "a tensor less": _tensors(lambda t: {name: value for name, value in t.items() if name != _first(t)}),
    "a tensor of another size": _tensors(lambda t: {**t, _first(t): torch.zeros(3, 3)}),
    "a tensor of NaN": _tensors(lambda t: {**t, _first(t): torch.full_like(t[_first(t)], torch.nan)}),
    "no tensors": _tensors(lambda _t: {}),
    "weights that are text": _pickled(lambda path: _rewrite(path, "weights")),
    "a zip bomb of weights": _pickled(_zip_bomb),
    "a pickle that fills memory": _pickled(_pickle_bomb),
    "an index of nothing": _index({}),
    "an index without a map": _index({"weight_map": None}),
    "an index of a missing file": _index({"weight_map": {"transformer.wte.weight": "gone.safetensors"}}),
    "an index of a list": _index([]),  # type: ignore[arg-type]
    "an index out of the folder": _index({"weight_map": {"transformer.wte.weight": "../../../etc/passwd"}}),
}
