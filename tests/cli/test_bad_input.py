"""Bad input: a one-line message with location and remedy, exit code 2, no traceback, no partial files."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions

ITEM: dict[str, Any] = {
    "id": "mine-1",
    "part": "intrasentence",
    "language": "en",
    "bias_type": "profession",
    "target": "nurse",
    "context": "The nurse was BLANK.",
    "candidates": {"stereotype": "gentle", "anti-stereotype": "gruff", "unrelated": "wooden"},
}


def lines(*items: Any) -> str:
    return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in items)


FILES = {
    "is empty": ("", ["mine.jsonl"]),
    "is not JSON": ("{]", ["mine.jsonl", "line 1"]),
    "is not an object": ("[1, 2]", ["mine.jsonl", "line 1"]),
    "lacks the context": (
        lines({k: v for k, v in ITEM.items() if k != "context"}),
        ["mine.jsonl", "line 1", "context"],
    ),
    "has no BLANK": (lines(ITEM, {**ITEM, "id": "b", "context": "The nurse."}), ["mine.jsonl", "line 2", "BLANK"]),
    "has two candidates": (
        lines({**ITEM, "candidates": {"stereotype": "a", "unrelated": "b"}}),
        ["mine.jsonl", "line 1", "anti-stereotype"],
    ),
    "has an unknown role": (
        lines({**ITEM, "candidates": {**ITEM["candidates"], "neutral": "plain"}}),
        ["mine.jsonl", "line 1", "neutral"],
    ),
    "repeats an id": (lines(ITEM, ITEM), ["mine.jsonl", "line 2", "id"]),
    "has an empty word": (
        lines({**ITEM, "candidates": {**ITEM["candidates"], "stereotype": " "}}),
        ["mine.jsonl", "line 1", "stereotype"],
    ),
    "has an unknown part": (lines({**ITEM, "part": "between"}), ["mine.jsonl", "line 1", "part"]),
    "has a number for a text": (lines({**ITEM, "context": 7}), ["mine.jsonl", "line 1", "context"]),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that(
    name: str, causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content, parts = FILES[name]
    path = tmp_path / "mine.jsonl"
    path.write_text(content, encoding="utf-8")
    assert command(monkeypatch, "run", causal, "--on", str(path), "--out", str(tmp_path / "out")) == 2
    error = capsys.readouterr().err.strip()
    assert_mentions(error, *parts)
    assert len(error.splitlines()) == 1
    assert "Traceback" not in error
    assert not (tmp_path / "out").exists()


REQUESTS: dict[str, tuple[list[str], list[str]]] = {
    "an unknown benchmark": (["run", "MODEL", "--on", "steroset:en"], ["stereoset"]),
    "an unknown language": (["run", "MODEL", "--on", "starter:xx"], ["'xx'", "en, de, fr, es, tr"]),
    "an unknown part": (["run", "MODEL", "--on", "starter/between"], ["intrasentence"]),
    "no language after the colon": (["run", "MODEL", "--on", "starter:"], ["starter:"]),
    "a file that is not there": (["run", "MODEL", "--on", "gone.jsonl"], ["gone.jsonl"]),
    "an unknown model": (["run", "./nowhere/at/all!", "--on", "starter:en"], ["./nowhere/at/all!"]),
    "a GGUF file that is not there": (["run", "gone.gguf", "--on", "starter:en"], ["gone.gguf"]),
    "an unknown protocol": (["run", "MODEL", "--on", "starter:en", "--protocol", "fast"], ["published", "in-context"]),
    "an unknown kind": (["run", "MODEL", "--on", "starter:en", "--kind", "bidirectional"], ["masked, causal, seq2seq"]),
    "a kind that does not fit": (
        ["run", "MODEL", "--on", "starter:en", "--kind", "seq2seq"],
        ["as seq2seq"],
    ),
    "an unknown dtype": (
        ["run", "MODEL", "--on", "starter:en", "--dtype", "int4"],
        ["auto, float32, float16, bfloat16"],
    ),
    "a device that is not here": (["run", "MODEL", "--on", "starter:en", "--device", "cuda:99"], ["cuda:99"]),
    "a limit of nothing": (["run", "MODEL", "--on", "starter:en", "--limit", "0"], ["at least 1"]),
    "an output that is a file": (["run", "MODEL", "--on", "starter:en", "--out", "FILE"], ["is a file"]),
    "predictions that are not there": (
        ["score", "--predictions", "gone.json", "--as", "stereotypes-multi", "--on", "starter:en"],
        ["gone.json"],
    ),
    "predictions of an unknown format": (
        ["score", "--predictions", "FILE", "--as", "tarot", "--on", "starter:en"],
        ["stereotypes-multi"],
    ),
    "predictions for several languages": (
        ["score", "--predictions", "FILE", "--as", "stereotypes-multi", "--on", "starter"],
        ["one language"],
    ),
    "a language without rules for the speaker": (["gender", "--language", "xx", "FILE"], ["be, cs, hr, pl, ru, sk"]),
    "a run that is not there": (["show", "nowhere"], ["nowhere", "finished run"]),
    "a data set that does not exist": (["data", "show", "steroset"], ["stereoset"]),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_with(
    name: str, causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("{}")
    monkeypatch.chdir(tmp_path)
    words, parts = REQUESTS[name]
    words = [{"MODEL": causal, "FILE": "file"}.get(word, word) for word in words]
    assert command(monkeypatch, *words) == 2
    error = capsys.readouterr().err.strip()
    assert_mentions(error, *parts)
    assert len(error.splitlines()) == 1
    assert "Traceback" not in error
    assert {path.name for path in tmp_path.iterdir()} == {"file"}
