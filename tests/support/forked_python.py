"""Run Python statements or modules in processes that are forked from one process with the large libraries imported.

A new Python process needs seconds to import these libraries. Tiltmeter itself is imported by each process anew, so that
it finds the entry points of the packages on its path.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

PRELOADED = ("torch", "transformers", "pandas", "pyarrow.parquet", "scipy.stats", "scipy.special", "altair", "typer")


def run_python(words: Sequence[str], environment: Mapping[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Return the result of `python WORDS`, where the words start with `-c STATEMENTS` or `-m MODULE`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED])
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder) / "stdout", Path(folder) / "stderr"]
        request = {
            "words": [*words],
            "environment": dict(environment),
            "cwd": str(cwd),
            "outputs": [*map(str, outputs)],
        }
        # This file is run by its path: the new process cannot import it, because `tests` is no package on its path.
        process = context.Process(target=runpy.run_path, args=(__file__, {"REQUEST": request}, "forked"), daemon=True)
        process.start()
        process.join()
        stdout, stderr = (file.read_text(encoding="utf-8") if file.exists() else "" for file in outputs)
    return subprocess.CompletedProcess([sys.executable, *words], process.exitcode or 0, stdout, stderr)


def _execute(words: list[str], environment: dict[str, str], cwd: str, outputs: list[str]) -> None:
    for descriptor, path in enumerate(outputs, 1):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, descriptor)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    here = [path for path in sys.path if path not in ("", cwd)]
    sys.path[:] = [cwd, *environment.get("PYTHONPATH", "").split(os.pathsep), *here]
    kind, program, *rest = words
    sys.argv = [kind, *rest]
    if kind == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "forked":
    _execute(**globals()["REQUEST"])
