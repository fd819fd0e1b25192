"""The bundle of the scripts that draw figures is kept, and a kept bundle that others could have written is not used."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tiltmeter.reports.vega_bundle import load_vega_bundle

MADE = "made </script>"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a bundle that was made before."""
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path))
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda _snippet: MADE)
    assert load_vega_bundle.__wrapped__() == "made <\\/script>"
    (file,) = (tmp_path / "vega").iterdir()
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda _snippet: "made again")
    return file


def load() -> str:
    return load_vega_bundle.__wrapped__()


def test_a_bundle_is_made_once_and_only_its_owner_can_write_it(kept: Path) -> None:
    assert load() == "made <\\/script>"
    assert kept.stat().st_mode & 0o077 == 0


def replace_by_link(path: Path) -> None:
    path.rename(path.with_suffix(".other"))
    path.symlink_to(path.with_suffix(".other"))


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.chmod(0o620),
        lambda path: path.chmod(0o602),
        lambda path: path.write_bytes(path.read_bytes() + b"x"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff\n"),
        replace_by_link,
        replace_by_pipe,
    ],
)
def test_a_bundle_that_is_damaged_or_that_others_can_write_is_made_again(
    kept: Path, change: Callable[[Path], object]
) -> None:
    change(kept)
    assert load() == "made again"


def test_a_bundle_of_another_user_is_made_again(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: kept.stat().st_uid + 1)
    assert load() == "made again"


def test_a_bundle_is_made_without_a_cache(kept: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "file"))
    assert load() == "made again"
