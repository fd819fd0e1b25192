"""`tiltmeter train next-sentence`, `evaluate` and `convert` on the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.support.command import command
from tests.support.messages import assert_mentions
from tests.support.patience import PATIENCE
from tests.training.made_task import TOPICS, make_model, make_pairs, sentence


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_model("llama", tmp_path_factory.mktemp("base"))


def test_articles_become_a_head(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    random = np.random.default_rng(0)
    (tmp_path / "en").mkdir()
    for index in range(40):
        topic = list(TOPICS)[index % len(TOPICS)]
        text = " ".join(sentence(topic, random).replace(" .", ".").capitalize() for _ in range(8))
        (tmp_path / "en" / f"{index}.txt").write_text(text)
    out = tmp_path / "head"
    words = ("train", "next-sentence", base, "--articles", f"en={tmp_path / 'en'}", "--out", str(out))
    assert command(monkeypatch, *words, "--passes", "1", "--cpu") == 0
    printed = capsys.readouterr()
    assert "training pairs" in printed.out
    assert "accuracy" in printed.out
    assert f"tiltmeter run {out} --on stereoset/intersentence" in printed.err
    assert (out / "curves.svg").read_text().startswith("<svg")
    assert command(monkeypatch, "train", "evaluate", str(out), "--pairs", str(out / "pairs"), "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["language"] == "en"
    assert 0 <= row["low"] <= row["value"] <= row["high"] <= 100


def write_articles(folder: Path, seed: int) -> str:
    """Write twenty articles, and return the value of --articles."""
    random = np.random.default_rng(seed)
    folder.mkdir()
    for index in range(20):
        text = " ".join(sentence(list(TOPICS)[index % 2], random).replace(" .", ".").capitalize() for _ in range(8))
        (folder / f"{seed}-{index}.txt").write_text(text)
    return f"en={folder}"


def test_pairs_of_other_articles_are_not_reused(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = (write_articles(tmp_path / name, seed) for name, seed in (("old", 1), ("new", 2)))
    out = tmp_path / "head"
    words = ("train", "next-sentence", base, "--out", str(out), "--passes", "1", "--cpu")
    assert command(monkeypatch, *words, "--articles", old) == 0
    (out / "config.json").rename(tmp_path / "config.json")  # as after an interruption
    (out / ".training").mkdir()
    (out / ".training" / "settings.json").write_text("{}")
    assert command(monkeypatch, *words, "--articles", new) == 2
    assert_mentions(capsys.readouterr().err, str(out / "pairs"), "--articles", "--seed")
    assert command(monkeypatch, *words, "--articles", old, "--seed", "1") == 2
    assert_mentions(capsys.readouterr().err, str(out / "pairs"), "--articles", "--seed")
    assert command(monkeypatch, *words, "--articles", old, "--limit", "9") == 2
    assert_mentions(capsys.readouterr().err, str(out / "pairs"), "--limit")
    assert command(monkeypatch, *words, "--articles", new, "--force") == 0
    (source,) = json.loads((out / "training.json").read_text())["data"]["sources"]
    assert source["name"] == str(tmp_path / "new")


def test_another_optimizer_schedule_and_number_of_articles(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "head"
    words = ("train", "next-sentence", base, "--articles", write_articles(tmp_path / "en", 1), "--out", str(out))
    chosen = ("--limit", "18", "--optimizer", "adafactor", "--schedule", "constant", "--core-rate", "0.002")
    assert command(monkeypatch, *words, *chosen, "--passes", "1", "--cpu") == 0
    record = json.loads((out / "training.json").read_text())
    assert (record["recipe"]["optimizer"], record["recipe"]["schedule"]) == ("adafactor", "constant")
    assert record["data"]["settings"]["limit"] == 18
    assert {entry["learning_rate"] for entry in record["log"] if "learning_rate" in entry} == {0.002}
    assert record["compute"]["hours"] > 0
    assert_mentions((out / "README.md").read_text(), "| optimizer | adafactor |", "| compute | ")
    capsys.readouterr()
    assert command(monkeypatch, "energy", str(out), "--watts", "50", "--json") == 0
    (use,) = json.loads(capsys.readouterr().out)["uses"]
    assert use["energy_wh"] == pytest.approx(50 * record["compute"]["hours"])
    assert command(monkeypatch, *words, "--optimizer", "sgd") == 2
    assert_mentions(capsys.readouterr().err, "--optimizer sgd", "adafactor")


def test_no_pairs_are_created_in_an_unusable_folder(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    articles = write_articles(tmp_path / "articles", 1)
    assert command(monkeypatch, "train", "next-sentence", base, "--out", base, "--articles", articles, "--force") == 2
    assert_mentions(capsys.readouterr().err, base, "the model itself")
    assert not (Path(base) / "pairs").exists()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--out", "h"], ["--articles", "--pairs"]),
        (["--out", "h", "--pairs", "nowhere"], ["nowhere", "`tiltmeter train pairs`"]),
        (["--out", "h", "--articles", "en=nowhere"], ["nowhere"]),
        (["--out", "h", "--pairs", "pairs", "--head", "best"], ["--head best", "recommended or published"]),
        (["--out", "h", "--pairs", "pairs", "--recipe", "best"], ["--recipe best", "default or published"]),
        (["--out", "h", "--pairs", "pairs", "--precision", "float16", "--cpu"], ["float16 needs a GPU"]),
        (["--out", "h", "--pairs", "pairs", "--passes", "0"], ["passes", "not 0"]),
        (["--out", "h", "--pairs", "pairs", "--early-stop", "0"], ["--early-stop", "not 0"]),
        (["--out", "h", "--pairs", "pairs", "--log-to", "paper"], ["--log-to paper", "tensorboard or trackio"]),
        (["--out", "file", "--pairs", "pairs"], ["file is a file", "--out"]),
    ],
)
def test_invalid_trainings(
    words: list[str],
    parts: list[str],
    base: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    make_pairs(tmp_path / "pairs", 100)
    (tmp_path / "file").write_text("")
    assert command(monkeypatch, "train", "next-sentence", base, *words) == 2
    assert_mentions(capsys.readouterr().err, *parts)
    assert not (tmp_path / "h").exists() or not list((tmp_path / "h").glob("*.safetensors"))


def test_only_heads_are_evaluated(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = make_pairs(tmp_path / "pairs", 100)
    assert command(monkeypatch, "train", "evaluate", base, "--pairs", str(pairs)) == 2
    assert_mentions(capsys.readouterr().err, base, "not a next-sentence head")


@pytest.mark.slow
def test_two_processes_train_one_head(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    articles = write_articles(tmp_path / "articles", 1)
    train = ["train", "next-sentence", base, "--passes", "1", "--cpu", "--batch", "16"]
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "tiltmeter"]
    together = [*launch, *train, "--accumulate", "1", "--articles", articles, "--out", str(tmp_path / "two")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(together, check=True, env=environment, capture_output=True, timeout=PATIENCE)
    pairs = tmp_path / "two" / "pairs"  # created by the first process
    alone = [*train, "--accumulate", "2", "--pairs", str(pairs), "--out", str(tmp_path / "one")]
    assert command(monkeypatch, *alone) == 0
    two, one = (json.loads((tmp_path / name / "training.json").read_text()) for name in ("two", "one"))
    assert (two["processes"], one["processes"]) == (2, 1)
    assert two["updates"] == one["updates"]
    # Two processes with one batch each are equivalent to one process with two batches.
    weights = [load_file(tmp_path / name / "model.safetensors") for name in ("two", "one")]
    for name, tensor in weights[0].items():
        torch.testing.assert_close(tensor, weights[1][name], atol=2e-4, rtol=1e-3)
