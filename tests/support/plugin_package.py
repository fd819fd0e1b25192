"""Install plug-in packages in a folder, as pip would, and run commands with them."""

import os
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

from transformers import GPT2Config, GPT2LMHeadModel

import tiltmeter
from tests.models.tiny import made
from tests.models.tiny_tokenizers import byte_level
from tests.support.forked_python import run_python

EXAMPLES = Path(__file__).parents[2] / "examples"


def install_example(name: str, folder: Path) -> None:
    """Install a package of `examples/`."""
    project = tomllib.loads((EXAMPLES / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = name.replace("-", "_")
    shutil.copytree(EXAMPLES / name / "src" / module, folder / module)
    write_metadata(folder, project["name"], project["entry-points"])


def write_metadata(folder: Path, name: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Write the metadata by which Python finds the entry points of a package."""
    about = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, entries in entry_points.items()
        for line in (f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))


def save_models(folder: Path, *names: str) -> None:
    """Save tiny causal models with different weights."""
    for seed, name in enumerate(names):
        made(_gpt2, seed=seed).save_pretrained(folder / name)
        byte_level().save_pretrained(folder / name)


def _gpt2() -> GPT2LMHeadModel:
    return GPT2LMHeadModel(GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=2, n_positions=128))


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a Tiltmeter command with the plug-ins of a folder."""
    return python(folder, "-m", "tiltmeter", *words)


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the plug-ins of a folder."""
    source = Path(tiltmeter.__file__).parents[1]
    paths = os.pathsep.join(map(str, (folder, source, EXAMPLES.parent)))
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "120", "TILTMETER_CACHE": str(folder / "cache")}
    return run_python(words, environment, folder)
