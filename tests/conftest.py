"""Fixtures of all tests: a separate cache, tiny models, and folders of external files."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

# With tiny models, more threads only add overhead.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# The time of an example depends on the load of the machine, so none has a deadline.
settings.register_profile("tiltmeter", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tiltmeter")

# Tests write and delete 100,000 small files, which takes minutes on some disks. A folder in memory is used if it is
# large enough.
_MEMORY, _ENOUGH_BYTES = Path("/dev/shm"), 8 << 30
if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True, scope="module")
def _skip_old_objects() -> None:
    """Exclude the objects of earlier modules from garbage collections, which would traverse them each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def _figure_scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cached scripts of figures; each test's cache has a copy, so that its programs need not bundle them again."""
    from tiltmeter.reports.vega_bundle import load_vega_bundle

    folder = tmp_path_factory.mktemp("scripts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILTMETER_CACHE", str(folder))
        load_vega_bundle()
    return folder / "vega"


@pytest.fixture(autouse=True)
def _own_cache(
    _figure_scripts: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    shutil.copytree(_figure_scripts, cache / "vega", copy_function=os.link)
    monkeypatch.setenv("TILTMETER_CACHE", str(cache))


@pytest.fixture(autouse=True)
def _own_kernels() -> Iterator[None]:
    """Enable oneDNN again: torch disables it for the process after a failed bfloat16 product, which changes sums."""
    yield
    if torch := sys.modules.get("torch"):
        torch._C._set_mkldnn_enabled(True)


@pytest.fixture(scope="session")
def causal(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny causal model."""
    from tests.models.tiny import CAUSAL, made, saved
    from tests.models.tiny_tokenizers import word_level

    return saved(tmp_path_factory.mktemp("models") / "causal", made(CAUSAL["gpt2"]), word_level(bos_token="<s>"))


@pytest.fixture(scope="session")
def masked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny masked model."""
    from tests.models.tiny import MASKED, made, saved
    from tests.models.tiny_tokenizers import word_piece

    return saved(tmp_path_factory.mktemp("models") / "masked", made(MASKED["bert"]), word_piece())


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of upstream files (a mirror)."""
    return _folder("TILTMETER_MIRROR", SHARED / "upstream", "the upstream data sets are missing", "a mirror of them")


@pytest.fixture(scope="session")
def fixtures_dir() -> Path:
    """The folder of tiny models and of the scores that the released code of the papers computes for them."""
    return _folder("TILTMETER_FIXTURES", SHARED / "fixtures", "the reference scores are missing", "their folder")


def _folder(variable: str, default: Path, problem: str, value: str) -> Path:
    folder = Path(os.environ.get(variable) or default)
    if not folder.is_dir():
        pytest.skip(f"{problem}: set {variable} to {value}")
    return folder
