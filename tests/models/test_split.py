"""Models split over main memory and disk: the numbers of the whole model, and nothing left behind."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models.asking import answers
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made, saved
from tests.models.tiny_tokenizers import word_piece
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import ModelError
from tiltmeter.models import checkpoint_model, device_placement
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.runs.evaluate import evaluate

# Bytes that hold part of each tiny model.
CAP = {"cpu": "14KB"}


@pytest.fixture
def offloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("name", ["gpt2", "llama", "bloom", "bert", "modernbert", "t5", "bart"])
def test_a_split_model_gives_the_same_numbers(name: str, tmp_path: Path, offloaded: Path) -> None:
    folder = saved(tmp_path / "m", made({**MASKED, **CAUSAL, **SEQ2SEQ}[name]), word_piece())
    whole, split = open_model(folder), open_model(folder, max_memory=CAP)
    expected = answers(whole)
    assert [pytest.approx(row, abs=1e-5) for row in expected] == answers(split)
    assert any(parameter.is_meta for parameter in split.get_answerer(split.kind).model.parameters())
    assert "disk" in split.describe()["split"]
    assert "split" not in whole.describe()
    assert split.fingerprint(split.kind) == whole.fingerprint(whole.kind)
    assert len(list(offloaded.glob("tiltmeter-*"))) == 1
    split.close()
    assert list(offloaded.glob("tiltmeter-*")) == []


def test_a_model_that_does_not_fit_is_split_by_itself(
    causal: str, monkeypatch: pytest.MonkeyPatch, offloaded: Path
) -> None:
    expected = answers(open_model(causal))
    model = open_model(causal)
    monkeypatch.setattr(device_placement, "measure_free_memory", lambda _device: 20_000)
    assert [pytest.approx(row, abs=1e-5) for row in expected] == answers(model)
    assert set(model.describe()["split"]) == {"cpu", "disk"}
    model.close()
    monkeypatch.setattr(device_placement, "measure_free_memory", lambda _device: 10**9)
    fitting = open_model(causal)
    answers(fitting)
    assert "split" not in fitting.describe()
    forced = open_model(causal, split=True)
    answers(forced)
    assert set(forced.describe()["split"]) == {"cpu"}
    forced.close()
    assert list(offloaded.glob("tiltmeter-*")) == []


def test_a_run_with_a_split_model_says_so(causal: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = evaluate(causal, "starter/intrasentence:en", limit=4, plain=True)
    split = evaluate(causal, "starter/intrasentence:en", limit=4, max_memory={"cpu": "18KB"})
    difference = (whole.scores["score"] - split.scores["score"]).abs().max()
    assert difference < 1e-6
    (note,) = split.manifest.notes
    assert_mentions(note, causal, "split", "cpu, disk")
    assert whole.manifest.notes == ()
    assert capsys.readouterr().err == ""


def test_over_all_gpus_then_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    free = {"cuda:0": 1000, "cuda:1": 2000, "cpu": 5000}
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(device_placement, "measure_free_memory", lambda device: free[str(device)])
    assert device_placement.compute_memory_limits(device_placement.DeviceSplit(), torch.device("cuda")) == {
        0: 850,
        1: 1700,
        "cpu": 4500,
    }
    assert device_placement.compute_memory_limits(device_placement.DeviceSplit(), torch.device("cpu")) == {"cpu": 4500}
    assert device_placement.parse_device_split(False, {"cuda:1": "2KB", "cpu": "3KiB"}).max_memory == {
        1: 2000,
        "cpu": 3072,
    }


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--max-memory", "gpu=10GB"], ["--max-memory gpu=10GB", "0=10GiB,cpu=4GiB"]),
        (["--max-memory", "cpu=much"], ["--max-memory cpu=much", "DEVICE=SIZE"]),
        (["--split", "--devices", "cpu,cpu"], ["--devices", "--split"]),
    ],
)
def test_options_that_cannot_be(
    options: list[str],
    parts: list[str],
    causal: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(monkeypatch, "run", causal, *options) == 2
    assert_mentions(capsys.readouterr().err, *parts)


def test_a_model_that_cannot_be_split_is_an_error(causal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise IndexError("list index out of range\nmore")

    monkeypatch.setattr(checkpoint_model.AUTO_CLASSES["causal"], "from_pretrained", fail)
    with raises_mentioning(ModelError, causal, "split over devices", "list index out"):
        open_model(causal, split=True).get_answerer("causal")
