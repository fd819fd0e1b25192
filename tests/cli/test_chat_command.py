"""`tiltmeter run chat:…` on the command line."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.models.chat_served import ChatServer, biased, chat_serving
from tests.runs.chosen import association_file, pairs_file
from tests.support.command import command
from tests.support.messages import assert_mentions


def test_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    server = ChatServer(biased(0.8))
    out = tmp_path / "run"
    with chat_serving(server) as name:
        words = ("run", name, "--on", association_file(tmp_path, 12), "--out", str(out), "--samples", "2")
        assert command(monkeypatch, *words, "--temperature", "0.5", "--max-tokens", "7") == 0
    printed = capsys.readouterr()
    # 144 requests for the items, and 12 that check the model.
    assert "156 requests, about" in printed.err
    assert "chosen stereotype" in printed.out.replace("\n", " ") or "stereotype" in printed.out
    # The checks use temperature 0.
    sent = Counter((body["temperature"], body["max_tokens"]) for body in server.bodies)
    assert sent == {(0.5, 7): 144, (0.0, 7): 12}
    request = json.loads((out / "manifest.json").read_text())["request"]
    assert (request["samples"], request["temperature"], request["design"]) == (2, 0.5, "default")
    assert (out / "answers.parquet").is_file()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--max-requests", "3"), "exceeds --max-requests 3"),
        (("--max-cost", "0.00001", "--price-in", "1", "--price-out", "1"), "exceeds --max-cost 1e-05"),
        (("--max-cost", "1"), "--price-in and --price-out"),
        (("--samples", "3", "--temperature", "0"), "--temperature above 0"),
        (("--protocol", "in-context"), "forced-choice or choice-probabilities"),
        (("--protocol", "choice-probabilities", "--samples", "3"), "remove --samples"),
    ],
)
def test_rejected_before_anything_is_sent(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    part: str,
) -> None:
    server = ChatServer(biased(0.8))
    with chat_serving(server) as name:
        assert command(monkeypatch, "run", name, "--on", pairs_file(tmp_path, 5), *options) == 2
    assert_mentions(capsys.readouterr().err, part)
    assert not server.bodies


def test_the_full_design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ChatServer(biased(0.8))
    with chat_serving(server) as name:
        assert command(monkeypatch, "run", name, "--on", pairs_file(tmp_path, 2), "--full-design") == 0
    assert len(server.bodies) == 48


def test_a_gate_on_chosen_stereotypes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = pairs_file(tmp_path, 200), tmp_path / "run"
    with chat_serving(ChatServer(biased(0.9))) as name:
        assert command(monkeypatch, "run", name, "--on", path, "--out", str(out)) == 0
    assert command(monkeypatch, "check", str(out), "--max", f"{path}.chosen stereotype distance 5") == 1
    assert command(monkeypatch, "check", str(out), "--max", f"{path}.chosen stereotype distance 49") == 0
