"""The state of this installation: packages, extras, devices, cache, mirror, hub token and the built-in model.

Nothing is downloaded, and the only folder that is written to is the cache.
"""

import os
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

import tiltmeter
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.file_fetcher import OFFLINE
from tiltmeter.datasets.local_files import get_mirror
from tiltmeter.errors import ModelError, TiltmeterError, UsageError
from tiltmeter.files import reject_unwritable_folder
from tiltmeter.redaction import redact_address

# Maps each extra to the features that need it. `docs` and `dev` are for developers, and
# `translators` combines the extras `amazon`, `deepl` and `google`.
FEATURES = {
    "studio": "the web application (tiltmeter studio)",
    "sentencepiece": "SentencePiece models without a tokenizer.json",
    "peft": "adapters, such as those of LoRA",
    "quantize": "quantisation on load (--quantize)",
    "litellm": "chat models of many providers (litellm:…)",
    "vllm": "local chat models in vLLM (vllm:MODEL)",
    "energy": "measured energy of NVIDIA GPUs",
    "train": "next-sentence heads (tiltmeter train)",
    "tracking": "curves while a head is trained, and numbers of runs in trackio (--log-to)",
    "mlflow": "numbers of runs in MLflow (tiltmeter run --log-to mlflow)",
    "wandb": "numbers of runs in Weights & Biases (tiltmeter run --log-to wandb)",
    "inspect": "tasks in Inspect (inspect eval tiltmeter/stereoset), and reading its logs",
    "lm-eval": "tasks in the Language Model Evaluation Harness",
    "amazon": "Amazon Translate",
    "deepl": "DeepL",
    "google": "Google Translate",
    "stanza": "a parser for the speaker's gender",
    "align": "WinoMT, and word alignment in tiltmeter make repair",
    "quality": "untranslated text in test sets",
    "thai": "words of Thai sentences (tiltmeter data describe)",
    "xlsx": "Excel files of items, and spreadsheets for reviewers",
    "ray": "matrices on a Ray cluster",
    "slurm": "matrices on a Slurm cluster",
}


@dataclass(frozen=True, slots=True)
class Package:
    """A package that Tiltmeter needs: its version, None if it is not installed, and the range of tested versions."""

    name: str
    version: str | None
    tested: str
    is_in_range: bool


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional feature with the packages that are missing for it, and the command that installs them."""

    name: str
    feature: str
    missing: tuple[str, ...]
    install: str


@dataclass(frozen=True, slots=True)
class Device:
    """A device for models; `has_bf16` says whether it computes in bfloat16, None if this is not known."""

    device: str
    name: str
    memory_bytes: int | None
    has_bf16: bool | None


@dataclass(frozen=True, slots=True)
class Installation:
    """All facts that `tiltmeter doctor` prints; `problems` are the faults that keep Tiltmeter from working."""

    tiltmeter: str
    python: str
    system: str
    packages: tuple[Package, ...]
    extras: tuple[Extra, ...]
    devices: tuple[Device, ...]
    cache: str
    cache_bytes: int
    cache_is_writable: bool
    mirror: str | None
    is_offline: bool
    hub_cache: str | None
    has_hub_token: bool
    embedded_model: str | None
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return asdict(self)


def examine_installation() -> Installation:
    """Return the state of this installation."""
    problems: list[str] = []
    requirements = list(_list_requirements())
    if not requirements:
        problems.append("The package tiltmeter is not installed: install it with pip, also to use a clone.")
    packages = tuple(_examine_package(one) for one in requirements if one.marker is None)
    for package in packages:
        if package.version is None:
            problems.append(f"The package {package.name} is missing: pip install '{package.name}{package.tested}'")
    devices = tuple(_list_devices(problems))
    cache = get_cache_folder()
    cache_problem = _find_cache_problem(cache)
    return Installation(
        tiltmeter=tiltmeter.__version__,
        python=platform.python_version(),
        system=platform.platform(),
        packages=packages,
        extras=tuple(_examine_extra(name, requirements) for name in FEATURES),
        devices=devices,
        cache=str(cache),
        cache_bytes=sum(_list_sizes(str(cache))),
        cache_is_writable=cache_problem is None,
        mirror=_examine_mirror(problems),
        is_offline=any(map(os.environ.get, (OFFLINE, "HF_HUB_OFFLINE"))),
        hub_cache=_get_hub_cache(),
        has_hub_token=_has_hub_token(),
        embedded_model=_find_embedded_model(),
        problems=(*problems, *([cache_problem] if cache_problem else [])),
    )


def _list_requirements() -> Iterator[Requirement]:
    try:
        texts = metadata.requires("tiltmeter") or []
    except metadata.PackageNotFoundError:
        return
    yield from map(Requirement, texts)


def _get_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _examine_package(needed: Requirement) -> Package:
    version = _get_version(needed.name)
    is_in_range = version is not None and needed.specifier.contains(version, prereleases=True)
    return Package(needed.name, version, str(needed.specifier), is_in_range)


def _examine_extra(name: str, requirements: list[Requirement]) -> Extra:
    # Requirements without a marker belong to no extra.
    own = [one for one in requirements if one.marker and one.marker.evaluate({"extra": name})]
    missing = sorted({one.name for one in own if _get_version(one.name) is None})
    return Extra(name, FEATURES[name], tuple(missing), f"pip install 'tiltmeter[{name}]'")


def _list_devices(problems: list[str]) -> Iterator[Device]:
    """Yield the processor and all GPUs; add an entry to `problems` if torch cannot be imported."""
    try:
        import torch
    except Exception as error:  # a broken installation of torch can raise any exception
        problems.append(f"torch cannot be imported ({type(error).__name__}: {error}); install it again.")
        return
    from tiltmeter.models.processor import get_processor_name, has_bf16_instructions, measure_main_memory

    yield Device("cpu", get_processor_name(), measure_main_memory(), has_bf16_instructions())
    for index in range(torch.cuda.device_count()):
        memory = int(torch.cuda.get_device_properties(index).total_memory)
        with torch.cuda.device(index):
            has_bf16 = torch.cuda.is_bf16_supported()
        yield Device(f"cuda:{index}", torch.cuda.get_device_name(index), memory, has_bf16)
    if torch.backends.mps.is_available():
        yield Device("mps", "Apple GPU", None, None)


def _find_cache_problem(cache: Path) -> str | None:
    """Return why the cache cannot be written; None if it can. Nothing is written outside the cache."""
    remedy = "set TILTMETER_CACHE to a writable folder"
    if cache.exists():
        try:
            reject_unwritable_folder(cache)
        except UsageError as error:
            return f"The cache cannot be written: {remedy}. {error}"
        return None
    parent = next(folder for folder in cache.absolute().parents if folder.exists())
    if parent.is_dir() and os.access(parent, os.W_OK):
        return None
    return f"The cache {cache} cannot be created in {parent}: {remedy}."


def _list_sizes(folder: str) -> Iterator[int]:
    """Yield the sizes of all files in a folder and its folders; links and unreadable entries are skipped."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _list_sizes(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False).st_size
    except OSError:
        return


def _examine_mirror(problems: list[str]) -> str | None:
    try:
        mirror = get_mirror()
    except TiltmeterError as error:
        problems.append(str(error))
        return os.environ["TILTMETER_MIRROR"]
    return redact_address(mirror) if isinstance(mirror, str) else str(mirror) if mirror else None


def _get_hub_cache() -> str | None:
    try:
        from huggingface_hub import constants
    except ImportError:  # it is listed as a missing package
        return None
    return constants.HF_HUB_CACHE


def _has_hub_token() -> bool:
    try:
        from huggingface_hub import get_token
    except ImportError:
        return False
    return get_token() is not None


def _find_embedded_model() -> str | None:
    """Return the version of the built-in model, or None if it is not installed."""
    try:
        from tiltmeter.models.checkpoint import EMBEDDED, find_checkpoint

        return find_checkpoint(EMBEDDED).revision
    except (ImportError, ModelError):
        return None
