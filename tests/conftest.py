"""What all tests share: no test touches the user's cache, and those that need upstream files say so."""

import os
from pathlib import Path

# Tiny models are done before a second thread has started.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def mirror() -> Path:
    """The folder of upstream files."""
    return _folder("TILTMETER_MIRROR", SHARED / "upstream", "the upstream data sets are not here", "a mirror of them")


@pytest.fixture
def fixtures_dir() -> Path:
    """The folder of tiny models and of what the papers' released code gives on them."""
    return _folder("TILTMETER_FIXTURES", SHARED / "fixtures", "the reference numbers are not here", "their folder")


def _folder(variable: str, otherwise: Path, what: str, to: str) -> Path:
    folder = Path(os.environ.get(variable) or otherwise)
    if not folder.is_dir():
        pytest.skip(f"{what}: set {variable} to {to}")
    return folder
