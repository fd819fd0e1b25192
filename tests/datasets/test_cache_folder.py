from pathlib import Path

import pytest

from tiltmeter.datasets.cache_folder import get_cache_folder


def test_the_setting_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path))
    assert get_cache_folder() == tmp_path


def test_the_setting_may_begin_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", "~/tilt")
    assert get_cache_folder() == Path.home() / "tilt"


def test_without_a_setting_the_platform_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILTMETER_CACHE")
    assert get_cache_folder().is_absolute()
    assert "tiltmeter" in get_cache_folder().parts[-1]
