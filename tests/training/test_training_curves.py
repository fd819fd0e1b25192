"""The figures of a training: smoothing, zoom, both learning rates, and the use of the GPU."""

import json
from pathlib import Path

import pytest
import torch

from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DataError, UsageError
from tiltmeter.models.hardware_usage import read_gpu_state
from tiltmeter.papers.figures.training_figures import TRAINING_FIGURES
from tiltmeter.training.training_curves import CurveView, build_curves, smooth

LOG = [
    {"step": at, "loss": 10.0 / (at + 1), "accuracy": 50.0 + at, "learning_rate": 5e-6, "head_learning_rate": 1e-3}
    for at in range(30)
]
GPU = [{**entry, "gpu_use": 90.0, "gpu_memory": 60.0, "gpu_power": 80.0} for entry in LOG]


def read_values(view: CurveView, log: list[dict[str, float]] | None = None) -> dict[str, list[float]]:
    figure = build_curves(log or LOG, view, "curves", "Training")
    return {
        panel.title: [row["value"] for data in panel.chart.to_dict()["datasets"].values() for row in data]
        for panel in figure.panels
    }


def test_smoothing_is_an_average_that_starts_at_the_first_value() -> None:
    assert smooth([3.0, 1.0, 2.0], 0.0) == [3.0, 1.0, 2.0]
    assert smooth([3.0, 3.0, 3.0], 0.92) == pytest.approx([3.0, 3.0, 3.0])
    assert smooth([0.0, 1.0], 0.5) == pytest.approx([0.0, 2 / 3])
    with raises_mentioning(UsageError, "0.92"):
        CurveView(smoothing=1.0)


def test_both_learning_rates_have_their_own_axes() -> None:
    values = read_values(CurveView())
    assert list(values) == ["Loss", "Accuracy (%)", "Learning rate of the model", "Learning rate of the head"]
    assert set(values["Learning rate of the head"]) == {1e-3}
    assert set(read_values(CurveView(("use", "memory", "power")), GPU)) > {"Use of the GPU (%)"}
    with raises_mentioning(DataError, "energy"):
        read_values(CurveView(("use",)))


def test_zoom_limits_the_axis_of_the_loss_only() -> None:
    (loss, accuracy) = build_curves(LOG, CurveView(("loss", "accuracy"), loss_below=1.0), "c", "t").panels
    assert loss.chart.to_dict()["encoding"]["y"]["scale"]["domain"] == [0, 1.0]
    assert "domain" not in accuracy.chart.to_dict()["encoding"]["y"]["scale"]


def test_the_state_of_a_cpu_is_not_recorded() -> None:
    assert read_gpu_state(torch.device("cpu")) == {}


def test_figures_of_the_thesis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    assert list(TRAINING_FIGURES["oeztuerk2022"])[:11] == [f"4.{number}" for number in range(1, 12)]
    head = tmp_path / "head"
    head.mkdir()
    (head / "training.json").write_text(json.dumps({"log": LOG}))
    out = str(tmp_path / "figures")
    assert command(monkeypatch, "train", "curves", str(head), "--smoothing", "0.9", "--figures", out) == 0
    drawn = ("oeztuerk2022", "--figure", "4.5", "--runs", str(head), "--figures", out)
    assert command(monkeypatch, "reproduce", *drawn) == 0
    capsys.readouterr()
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"head-curves.svg", "oeztuerk2022-head-figure-4.5.pdf"} <= names
    for words, parts in (
        (("reproduce", "oeztuerk2022", "--figure", "A.2", "--runs", str(head)), ["energy"]),
        (("reproduce", "oeztuerk2022", "--figure", "5", "--runs", str(head)), ["4.11"]),
        (("train", "curves", str(tmp_path)), ["training.json"]),
        (("train", "curves", str(head), "--loss-below", "0"), ["above 0"]),
    ):
        assert command(monkeypatch, *words) == 2
        assert_mentions(capsys.readouterr().err, *parts)
