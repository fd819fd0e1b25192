"""`tiltmeter doctor`: facts, problems, and that it writes and prints nothing that it must not."""

import builtins
import json
import os
import re
import socket
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions
from tiltmeter.installation import FEATURES, examine_installation
from tiltmeter.models import processor

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every connection fail, so that each test also shows that the command works offline."""

    def refuse(*_arguments: object) -> None:
        raise AssertionError("the command opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Let these packages look as if they were not installed."""
    original = metadata.version

    def version(name: str) -> str:
        if name in packages:
            raise metadata.PackageNotFoundError(name)
        return original(name)

    monkeypatch.setattr(metadata, "version", version)


def read_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    assert command(monkeypatch, "doctor", "--json") == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_an_installation_without_problems(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    cache = Path(os.environ["TILTMETER_CACHE"])
    (cache / "upstream").mkdir()
    (cache / "upstream" / "file").write_bytes(bytes(3_000_000))
    before = sorted(cache.rglob("*"))
    found = read_json(monkeypatch, capsys)
    assert found["problems"] == []
    assert found["cache"] == str(cache)
    assert found["cache_bytes"] >= 3_000_000
    assert next(one for one in found["packages"] if one["name"] == "torch")["version"] == metadata.version("torch")
    assert found["devices"][0]["device"] == "cpu"
    assert sorted(cache.rglob("*")) == before
    assert command(monkeypatch, "doctor") == 0
    assert_mentions(capsys.readouterr().out, str(cache), "No problems")


def test_every_extra_of_users_has_a_feature() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(FEATURES) == set(extras) - {"dev", "docs", "translators"}


def test_every_extra_is_on_the_installation_page() -> None:
    page = (ROOT / "docs/start/install.md").read_text("utf-8")
    rows = [line.partition("| for |")[0] for line in page.splitlines() if line.startswith("| `")]
    assert set(FEATURES) <= {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}


def test_a_missing_extra_names_the_feature_and_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hide(monkeypatch, "peft")
    assert command(monkeypatch, "doctor") == 0
    assert_mentions(capsys.readouterr().out, FEATURES["peft"], "pip install 'tiltmeter[peft]'")
    (extra,) = [one for one in read_json(monkeypatch, capsys)["extras"] if one["name"] == "peft"]
    assert extra["missing"] == ["peft"]


def test_a_missing_package_is_a_problem(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    hide(monkeypatch, "pyarrow")
    assert command(monkeypatch, "doctor") == 1
    assert_mentions(capsys.readouterr().out, "Problem:", "pip install 'pyarrow")


def test_an_untested_version_is_no_problem(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    original = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "99.0" if name == "transformers" else original(name))
    assert command(monkeypatch, "doctor") == 0
    assert_mentions(capsys.readouterr().out, "not tested", "transformers 99.0")


def test_a_broken_torch_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def fail(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "torch":
            raise OSError("libcudart.so: cannot open shared object file")
        return original(name, *arguments, **options)

    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(builtins, "__import__", fail)
    found = examine_installation()
    assert found.devices == ()
    (problem,) = found.problems
    assert_mentions(problem, "torch", "libcudart.so")


def test_a_cache_that_cannot_be_written_is_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for cache in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("TILTMETER_CACHE", str(cache))
        found = examine_installation()
        assert not found.cache_is_writable
        assert_mentions(found.problems[-1], str(tmp_path / "file"), "TILTMETER_CACHE")


def test_an_absent_cache_is_not_created(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "new" / "cache"))
    found = examine_installation()
    assert (found.cache_is_writable, found.cache_bytes, found.problems) == (True, 0, ())
    assert list(tmp_path.iterdir()) == []


def test_the_mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", "https://me:secret@mirror.example.org/data")
    assert examine_installation().mirror == "https://mirror.example.org/data"
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path / "none"))
    assert_mentions(examine_installation().problems[0], "TILTMETER_MIRROR", str(tmp_path / "none"))


def test_the_value_of_the_hub_token_is_never_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijkl")
    for words in (["doctor"], ["doctor", "--json"]):
        assert command(monkeypatch, *words) == 0
        printed = capsys.readouterr()
        assert "hf_abcdefghijkl" not in printed.out + printed.err
    assert examine_installation().has_hub_token


def test_processors_with_bfloat16(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processor, "_CPU_INFO", tmp_path / "cpuinfo")
    assert examine_installation().devices[0].has_bf16 is None
    for flags, expected in (
        ("flags\t: fpu avx512_bf16", True),
        ("Features : fp asimd bf16", True),
        ("flags : fpu", False),
    ):
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{flags}\n", encoding="utf-8")
        assert examine_installation().devices[0].has_bf16 is expected
