"""Functions that exist only on Linux are used only in `engine` and `models`, which have their own tests."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tiltmeter
from tests.runs.made import association_scores, run, saved
from tests.support.modules import list_modules

ROOT = Path(tiltmeter.__file__).parent
MODULES = ("fcntl", "grp", "posix", "pwd", "resource", "syslog", "termios")
ATTRIBUTES = {
    "os": [
        "fork",
        "getgid",
        "getloadavg",
        "getuid",
        "geteuid",
        "mkfifo",
        "nice",
        "posix_fadvise",
        "sched_getaffinity",
        "sched_setaffinity",
        "statvfs",
        "sysconf",
        "uname",
    ],
    "signal": ["SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "alarm", "setitimer"],
}


def only_on_some_systems(source: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.partition(".")[0] in MODULES}
        elif isinstance(node, ast.ImportFrom) and (node.module or "") in (*MODULES, *ATTRIBUTES):
            named = {alias.name for alias in node.names}
            found |= named if node.module in MODULES else named & set(ATTRIBUTES[str(node.module)])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {f"{node.value.id}.{node.attr}"} if node.attr in ATTRIBUTES.get(node.value.id, ()) else set()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {node.value} if node.value.startswith(("/proc/", "/sys/", "/dev/")) else set()
    return found


def test_functions_of_some_systems_are_found() -> None:
    source = "import fcntl\nfrom os import sysconf\nimport os\nos.sched_getaffinity(0)\nopen('/proc/meminfo')\n"
    assert only_on_some_systems(source) == {"fcntl", "sysconf", "os.sched_getaffinity", "/proc/meminfo"}


def test_no_module_outside_engine_and_models_uses_them() -> None:
    for path in ROOT.rglob("*.py"):
        inside = path.relative_to(ROOT)
        # files.py and job_lock.py work without these functions, too; job_server.py is for Linux only.
        is_for_linux = inside.name in ("job_lock.py", "job_server.py")
        if inside.parts[0] not in ("engine", "models", "files.py") and not is_for_linux:
            assert only_on_some_systems(path.read_text(encoding="utf-8")) == set(), inside


SCRIPT = f"""
import os, signal, sys
# Other packages are imported first, because they may use these functions.
import altair, filelock, numpy, pandas, pyarrow.parquet, scipy.stats, torch, transformers, typer, vl_convert
import transformers.modeling_utils, transformers.trainer
for name in {MODULES!r}:
    sys.modules[name] = None
for module, names in ((os, {ATTRIBUTES["os"]!r}), (signal, {ATTRIBUTES["signal"]!r})):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

import tiltmeter
from importlib import import_module
for module in {list_modules()!r}:
    import_module(module)

run = tiltmeter.load_run(sys.argv[1])
run.save(sys.argv[2] + "/again")
tiltmeter.report(sys.argv[2] + "/again")
print(len(tiltmeter.datasets.load("starter")), tiltmeter.check(run, min="stereoset.LMS 1")[0].passed)

from tiltmeter.translators.translation_store import TranslationStore
with TranslationStore(sys.argv[2] + "/t.sqlite") as store, store.lock("system", "sk"):
    store.put("system", "sk", {{"one": "jeden"}})
    print(store.get("system", "sk", ["one"]))
"""


@pytest.mark.slow
def test_without_functions_that_only_some_systems_have(tmp_path: Path) -> None:
    """Imports, runs, reports, data sets and stores work without the functions of Linux."""
    folder = saved(tmp_path / "run", run(association_scores(seed=1)))
    words = [sys.executable, "-c", SCRIPT, folder, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["400 True", "{'one': 'jeden'}"]
    assert (tmp_path / "again/report.html").is_file()


def test_a_lock_without_the_functions_of_unix(tmp_path: Path) -> None:
    """If a system cannot lock files, filelock uses the existence of a file as the lock."""
    script = (
        "import sys; sys.modules['fcntl'] = None\n"
        "from tiltmeter.translators.translation_store import TranslationStore\n"
        "with TranslationStore(sys.argv[1]) as store, store.lock('s', 'sk') as lock: print(type(lock).__name__)"
    )
    words = [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "t.sqlite")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "SoftFileLock"
