"""`models`, `engine` and the questions of the benchmarks need only torch, transformers and numpy."""

import subprocess
import sys
from pathlib import Path

import pytest

import tiltmeter

ABSENT = ("pandas", "pyarrow", "scipy", "rich", "typer", "platformdirs", "altair", "jinja2", "vl_convert")
PACKAGE = str(Path(tiltmeter.__file__).parent)
SCRIPT = f"""
import importlib.abc, os, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        # Optional imports of transformers itself are allowed to fail.
        caller = sys._getframe(1)
        while caller and "importlib" in caller.f_code.co_filename:
            caller = caller.f_back
        if name.partition(".")[0] in {ABSENT!r} and caller.f_code.co_filename.startswith({PACKAGE!r} + os.sep):
            raise ModuleNotFoundError(f"no {{name}} on this node", name=name)
        return None

sys.meta_path.insert(0, Absent())
"""


@pytest.mark.parametrize(
    "module",
    [
        "tiltmeter.models.checkpoint_model",
        "tiltmeter.models.in_memory_model",
        "tiltmeter.models.model_opener",
        "tiltmeter.engine.execution",
        "tiltmeter.engine.device_workers",
        "tiltmeter.benchmarks.association",
    ],
)
def test_a_bare_node_can_import(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + f"import {module}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_other_packages_cannot_be_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + "import tiltmeter.runs.result"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "on this node" in done.stderr
