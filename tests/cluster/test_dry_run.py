"""Forecasts of a matrix: questions are counted once, without requests to the hub."""

from pathlib import Path

import pytest

from tests.cluster.planned import matrix_of, only, write_plan
from tests.support.command import command
from tests.support.messages import assert_mentions
from tiltmeter.cluster.dry_run import forecast_matrix
from tiltmeter.cluster.model_job import run_job, write_job
from tiltmeter.runs.time_estimates import ModelSize, estimate_model
from tiltmeter.runs.timing_store import Timing


def test_questions_that_cells_share_are_counted_once(causal: str, tmp_path: Path) -> None:
    (alone,) = forecast_matrix(matrix_of(tmp_path, [causal]))
    matrix = matrix_of(tmp_path, [causal], ["starter", "starter/intrasentence"])
    (both,) = forecast_matrix(matrix)
    assert (both.open_cells, both.questions, both.answered) == (4, alone.questions, 0)
    write_job(only(matrix_of(tmp_path, [causal])))
    assert run_job(only(matrix).folder)["failed"] == {}
    (left,) = forecast_matrix(matrix)
    assert left.open_cells == 2
    assert left.questions == left.answered > 0


def test_stored_answers_take_no_time() -> None:
    known = Timing("known", "causal", 1_000, "CPU", "association", "published", 200, 1_000, 9.0, 1_000, 100.0, 1.0)

    def seconds(runs: int, unanswered: float) -> float:
        size = ModelSize(1_000, "causal")
        estimate = estimate_model(
            "known", size, "association", "published", 200, [known], runs=runs, unanswered=unanswered
        )
        return (estimate.low or 0.0) * 1.4

    assert seconds(1, 1.0) == pytest.approx(9 + 1 + 100)
    assert seconds(5, 0.5) == pytest.approx(9 + 5 + 50)
    assert seconds(5, 0.0) == pytest.approx(5)


def test_a_forecast_sends_no_request_to_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    offline: list[bool] = []
    monkeypatch.setattr("tiltmeter.cluster.dry_run.has_model_files", lambda _name: True)
    own = __import__("huggingface_hub").snapshot_download

    def snapshot(*given: object, **more: object) -> str:
        offline.append(constants.is_offline_mode())
        return str(own(*given, **more))

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    (one,) = forecast_matrix(matrix_of(tmp_path, ["nobody/has-this-model"]))
    assert offline == [True]
    assert one.questions is None
    assert not constants.HF_HUB_OFFLINE


def test_the_exit_code_for_a_model_that_cannot_be_opened(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path, [causal])
    words = ["matrix", str(plan), "--out", str(tmp_path / "out"), "--dry-run"]
    assert command(monkeypatch, *words) == 0
    plan.write_text(plan.read_text().replace(f'"{causal}"', f'"{causal}"\ntokenizer = "{tmp_path / "nowhere"}"'))
    assert command(monkeypatch, *words) == 1
    assert_mentions(capsys.readouterr().out, "1 model", "cannot be opened", "nowhere")
