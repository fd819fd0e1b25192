"""Tests in a browser are skipped if there is none, unless it is required."""

from pathlib import Path

import pytest

from tests.reports import chromium
from tests.support.messages import raises_mentioning

ROOT = Path(__file__).resolve().parents[2]


def test_a_missing_browser_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "executable", lambda: None)
    monkeypatch.delenv("TILTMETER_BROWSER", raising=False)
    assert "not installed" in (chromium.why_not() or "")


def test_a_missing_browser_fails_where_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "executable", lambda: None)
    monkeypatch.setenv("TILTMETER_BROWSER", "required")
    assert chromium.why_not() is None
    with raises_mentioning(RuntimeError, "not installed", "TILTMETER_BROWSER"), chromium.chromium():
        pass


def test_continuous_integration_requires_it() -> None:
    assert "export TILTMETER_BROWSER=required\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
