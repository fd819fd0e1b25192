from pathlib import Path

import pytest

from tiltmeter.datasets.cache import cache_dir


def test_the_setting_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path))
    assert cache_dir() == tmp_path


def test_the_setting_may_begin_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", "~/tilt")
    assert cache_dir() == Path.home() / "tilt"


def test_without_a_setting_the_platform_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILTMETER_CACHE")
    assert cache_dir().is_absolute()
    assert "tiltmeter" in cache_dir().parts[-1]
