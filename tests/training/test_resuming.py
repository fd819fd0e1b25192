"""A resumed training ends with the same weights and the same log, bit by bit on a CPU."""

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.support.messages import raises_mentioning
from tests.training.made_task import make_model, make_pairs
from tiltmeter.errors import UsageError
from tiltmeter.progress.progress import Progress, ReportProgress, hide_progress
from tiltmeter.training import head_training, trainer
from tiltmeter.training.head_training import TrainingOptions, train_next_sentence
from tiltmeter.training.trainer import find_last_checkpoint
from tiltmeter.training.training_folder import TrainingFolder
from tiltmeter.training.training_recipe import TrainingRecipe

RECIPE = TrainingRecipe(batch=16, accumulation=2, core_rate=1e-3, passes=2)


class Killed(BaseException):
    pass


class Clock:
    """A clock on which a weight update takes one second."""

    def __init__(self) -> None:
        self.now, self.step = 0.0, 0

    def monotonic(self) -> float:
        return self.now

    def advance(self, step: int) -> None:
        self.now += step == self.step + 1
        self.step = step


def train(
    base: str, pairs: Path, out: Path, kill_at: int | None = None, clock: Clock | None = None, **options: Any
) -> Any:
    def report(progress: Progress) -> None:
        if progress.done == kill_at:
            raise Killed
        if clock:
            clock.advance(progress.done)

    chosen = TrainingOptions(**{"checkpoints": 6, "seed": 4, **options})

    def watch(step: str) -> AbstractContextManager[ReportProgress]:
        return nullcontext(report) if step == "training" else hide_progress(step)

    return train_next_sentence(base, pairs, out, recipe=RECIPE, options=chosen, cpu=True, watch=watch)


def outcome(folder: Path) -> tuple[dict[str, torch.Tensor], list[dict[str, float]]]:
    tensors = {**load_file(folder / "model.safetensors"), **load_file(folder / "head.safetensors")}
    log = json.loads((folder / "training.json").read_text())["log"]
    return tensors, [{key: value for key, value in entry.items() if "per_second" not in key} for entry in log]


def test_an_interrupted_training_ends_with_the_same_weights_and_curve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(trainer, "time", clock)
    pairs = make_pairs(tmp_path / "pairs", 600)
    # With dropout, whose random state must be restored, too.
    base = make_model("distilbert", tmp_path / "base")
    whole = train(base, pairs, tmp_path / "whole", clock=clock).record
    assert (whole["updates"], whole["seconds"]) == (30, 30)
    for at in (3, 11, 22):
        with pytest.raises(Killed):
            train(base, pairs, tmp_path / "interrupted", kill_at=at, clock=clock)
        assert not (tmp_path / "interrupted" / "config.json").exists()
    # An incomplete checkpoint, as of a process that was killed while writing it.
    checkpoints = TrainingFolder(tmp_path / "interrupted").checkpoints
    newest = find_last_checkpoint(checkpoints)
    assert newest is not None
    assert newest.name == "checkpoint-20"
    (checkpoints / "checkpoint-25").mkdir()
    # 20 seconds to the last complete checkpoint, and 10 from there.
    assert train(base, pairs, tmp_path / "interrupted", clock=clock).record["seconds"] == 30
    weights, log = outcome(tmp_path / "interrupted")
    expected, expected_log = outcome(tmp_path / "whole")
    assert log == expected_log
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    # The fingerprint of a model depends on the tokenizer, too.
    tokenizers = [(tmp_path / name / "tokenizer.json").read_bytes() for name in ("whole", "interrupted")]
    assert tokenizers[0] == tokenizers[1]
    assert not (tmp_path / "interrupted" / ".training").exists()


def test_other_settings_do_not_resume(tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 200)
    base = make_model("llama", tmp_path / "base")
    with pytest.raises(Killed):
        train(base, pairs, tmp_path / "head", kill_at=1)
    with raises_mentioning(UsageError, "head", "(options)", "--force"):
        train(base, pairs, tmp_path / "head", seed=5)
    head = train(base, pairs, tmp_path / "head")
    with raises_mentioning(UsageError, "finished head"):
        train(base, pairs, head.out)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep me")
    with raises_mentioning(UsageError, "mine", "other files"):
        train(base, pairs, tmp_path / "mine")


def test_early_stopping_uses_the_best_weights_and_is_resumed_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = make_pairs(tmp_path / "pairs", 600)
    base = make_model("llama", tmp_path / "base")
    evaluated: list[torch.Tensor] = []

    def return_constant_loss(module: Any, **_: Any) -> dict[str, float]:
        evaluated.append(module.head[0].weight.detach().clone())
        return {"loss": 1.0, "accuracy": 50.0}

    monkeypatch.setattr(head_training, "compute_validation_metrics", return_constant_loss)
    whole = train(base, pairs, tmp_path / "whole", early_stop=2).record
    assert (whole["updates"], len(evaluated)) == (15, 3)  # of 30, with an evaluation every 5
    best = load_file(tmp_path / "whole" / "head.safetensors")["0.weight"]
    assert [torch.equal(best, weight) for weight in evaluated] == [True, False, False]
    with pytest.raises(Killed):
        train(base, pairs, tmp_path / "interrupted", early_stop=2, kill_at=12)

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        # Killed in the evaluation on held-out pairs, after the last update.
        patched.setattr(head_training, "compute_logits", killed)
        with pytest.raises(Killed):
            train(base, pairs, tmp_path / "interrupted", early_stop=2)
    assert train(base, pairs, tmp_path / "interrupted", early_stop=2).record["updates"] == 15
    weights, log = outcome(tmp_path / "interrupted")
    expected, expected_log = outcome(tmp_path / "whole")
    assert log == expected_log
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
