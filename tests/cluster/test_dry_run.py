"""What a matrix would do: questions counted once, and no hub asked."""

from pathlib import Path

import pytest

from tests.cluster.planned import matrix_of, only, write_plan
from tests.support.command import command
from tiltmeter.cluster.dry_run import forecast
from tiltmeter.cluster.model_job import run_job, write_job
from tiltmeter.cluster.time_estimates import ModelSize, estimate_model
from tiltmeter.cluster.timing_store import Timing


def test_questions_that_cells_share_are_counted_once(causal: str, tmp_path: Path) -> None:
    (alone,) = forecast(matrix_of(tmp_path, [causal]))
    matrix = matrix_of(tmp_path, [causal], ["starter", "starter/intrasentence"])
    (both,) = forecast(matrix)
    assert (both.open_cells, both.questions, both.answered) == (4, alone.questions, 0)
    write_job(only(matrix_of(tmp_path, [causal])))
    assert run_job(only(matrix).folder)["failed"] == {}
    (left,) = forecast(matrix)
    assert left.open_cells == 2
    assert left.questions == left.answered > 0


def test_what_is_answered_takes_no_time() -> None:
    known = Timing("known", "causal", 1_000, "CPU", "association", "published", 200, 1_000, 9.0, 1_000, 100.0, 1.0)

    def seconds(runs: int, unanswered: float) -> float:
        size = ModelSize(1_000, "causal")
        found = estimate_model(
            "known", size, "association", "published", 200, [known], runs=runs, unanswered=unanswered
        )
        return (found.low or 0.0) * 1.4

    assert seconds(1, 1.0) == pytest.approx(9 + 1 + 100)
    assert seconds(5, 0.5) == pytest.approx(9 + 5 + 50)
    assert seconds(5, 0.0) == pytest.approx(5)


def test_no_hub_is_asked_for_a_newer_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    asked: list[bool] = []
    monkeypatch.setattr("tiltmeter.cluster.dry_run._has_files", lambda _name: True)
    own = __import__("huggingface_hub").snapshot_download

    def snapshot(*given: object, **more: object) -> str:
        asked.append(constants.is_offline_mode())
        return str(own(*given, **more))

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    (one,) = forecast(matrix_of(tmp_path, ["nobody/has-this-model"]))
    assert asked == [True]
    assert one.questions is None
    assert not constants.HF_HUB_OFFLINE


def test_a_model_that_cannot_be_opened_is_told_by_the_exit_code(
    causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path, [causal])
    words = ["matrix", str(plan), "--out", str(tmp_path / "out"), "--dry-run"]
    assert command(monkeypatch, *words) == 0
    plan.write_text(plan.read_text().replace(f'"{causal}"', f'"{causal}"\ntokenizer = "{tmp_path / "nowhere"}"'))
    assert command(monkeypatch, *words) == 1
    told = capsys.readouterr().out
    assert "1 models cannot be opened" in told
    assert "nowhere" in told
