"""`tiltmeter run --log-to`: the numbers of a run in trackers of experiments."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.reports.made import association
from tests.runs.made import association_scores, chosen_scores, run
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.reports.exports.exported_model import select_model
from tiltmeter.reports.run_trackers import TRACKERS, build_metrics, log_result, reject_missing_trackers

TWO = run(association_scores("maker/one", seed=1), association_scores("maker/two", seed=2))


class Recorder(ModuleType):
    """A module with the functions of wandb, trackio and mlflow that records what is logged."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self.logged: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *values, **named: self.logged.append((name, values[0] if values else named))

    @contextmanager
    def start_run(self, run_name: str) -> Iterator[None]:
        self.logged.append(("start_run", run_name))
        yield


@pytest.fixture
def recorders(monkeypatch: pytest.MonkeyPatch) -> dict[str, Recorder]:
    modules = {name: Recorder(name) for name in TRACKERS}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return modules


def test_metrics_have_their_intervals() -> None:
    metrics = build_metrics(select_model(TWO, "maker/two"))
    record = next(
        r for r in TWO.records if (r.model, r.part, r.view, r.measure) == ("maker/two", "overall", "all", "SS")
    )
    name = "stereoset.en.overall.published.ss"
    assert metrics[name] == record.value
    assert (metrics[f"{name}.low"], metrics[f"{name}.high"], metrics[f"{name}.n"]) == (
        record.low,
        record.high,
        record.n,
    )


def test_contradictory_parts_are_not_pooled() -> None:
    result = run(chosen_scores("maker/one", {"intrasentence": 60.0, "intersentence": 40.0}, n=600))
    metrics = build_metrics(select_model(result, None))
    assert "stereoset.en.intrasentence.published.ss" in metrics
    assert "stereoset.en.overall.published.ss" not in metrics


def test_each_model_is_logged_to_each_tracker(recorders: dict[str, Recorder]) -> None:
    log_result(TWO, list(TRACKERS))
    expected = [build_metrics(select_model(TWO, model)) for model in ("maker/one", "maker/two")]
    for name, module in recorders.items():
        call = "log_metrics" if name == "mlflow" else "log"
        assert [values for called, values in module.logged if called == call] == expected
    assert [values for called, values in recorders["mlflow"].logged if called == "start_run"] == [
        "maker/one",
        "maker/two",
    ]
    for name in ("trackio", "wandb"):
        assert [called for called, _ in recorders[name].logged] == ["init", "log", "finish"] * 2
        started = recorders[name].logged[0][1]
        assert (started["project"], started["name"], started["config"]["model"]) == (
            "tiltmeter",
            "maker/one",
            "maker/one",
        )


def test_a_tracker_that_fails_is_named(recorders: dict[str, Recorder]) -> None:
    def refuse(_metrics: object) -> None:
        raise OSError("no server")

    recorders["wandb"].log = refuse  # type: ignore[attr-defined]
    with raises_mentioning(UsageError, "wandb", "no server", "finished"):
        log_result(TWO, ["wandb"])
    assert recorders["wandb"].logged[-1][0] == "finish"


def test_a_missing_tracker_is_reported_before_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setattr("tiltmeter.reports.run_trackers.find_spec", lambda _name: None)
    with raises_mentioning(UsageError, "trackio", "tiltmeter[tracking]"):
        reject_missing_trackers(["trackio"])
    out = tmp_path / "run"
    assert command(monkeypatch, "run", "nowhere", "--out", str(out), "--log-to", "mlflow") == 2
    assert_mentions(capsys.readouterr().err, "mlflow", "tiltmeter[mlflow]")
    assert command(monkeypatch, "run", "nowhere", "--out", str(out), "--log-to", "paper") == 2
    assert_mentions(capsys.readouterr().err, "--log-to paper", "mlflow, trackio, wandb")
    assert not out.exists()


def test_the_command_logs_the_run(
    recorders: dict[str, Recorder], masked: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys
) -> None:
    words = ("run", masked, "--on", "starter-pairs:en", "--limit", "8", "--quiet", "--no-report")
    assert command(monkeypatch, *words, "--out", str(tmp_path / "run"), "--log-to", "wandb") == 0
    (metrics,) = (values for called, values in recorders["wandb"].logged if called == "log")
    assert metrics["starter_pairs.en.all.published.cps.n"] == 8
    capsys.readouterr()


def test_mlflow_stores_the_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: pip install 'tiltmeter[mlflow]'")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # files need no database
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    result = association(["maker/one"], "starter:en")
    log_result(result, ["mlflow"])
    (stored,) = mlflow.search_runs(experiment_names=["tiltmeter"], output_format="list")
    assert stored.data.metrics == pytest.approx(build_metrics(select_model(result, None)))
    assert stored.data.params["model"] == "maker/one"


def test_trackio_stores_the_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    pytest.importorskip("trackio", reason="trackio is not installed: pip install 'tiltmeter[tracking]'")
    result = association(["maker/one"], "starter:en")
    log_result(result, ["trackio"])
    assert [path for path in tmp_path.rglob("*") if path.is_file() and "tiltmeter" in path.name]
