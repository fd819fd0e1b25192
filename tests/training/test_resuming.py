"""A training that is interrupted goes on to the same weights and the same curve, bit for bit on a CPU."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.training.made_task import make_model, make_pairs
from tiltmeter.errors import UsageError
from tiltmeter.training import head_training, trainer
from tiltmeter.training.head_training import TrainingOptions, train_next_sentence
from tiltmeter.training.trainer import TrainingProgress, find_last_checkpoint
from tiltmeter.training.training_folder import TrainingFolder
from tiltmeter.training.training_recipe import TrainingRecipe

RECIPE = TrainingRecipe(batch=16, accumulation=2, core_rate=1e-3, passes=2)


class Killed(BaseException):
    pass


class Clock:
    """A clock that an update of the weights takes one second by."""

    def __init__(self) -> None:
        self.now, self.step = 0.0, 0

    def monotonic(self) -> float:
        return self.now

    def tell(self, step: int) -> None:
        self.now += step == self.step + 1
        self.step = step


def train(
    base: str, pairs: Path, out: Path, kill_at: int | None = None, clock: Clock | None = None, **options: Any
) -> Any:
    def report(progress: TrainingProgress) -> None:
        if progress.step == kill_at:
            raise Killed
        if clock:
            clock.tell(progress.step)

    chosen = TrainingOptions(**{"checkpoints": 6, "seed": 4, **options})
    return train_next_sentence(base, pairs, out, recipe=RECIPE, options=chosen, cpu=True, report=report)


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
    # With dropout, whose random numbers must go on, too.
    base = make_model("distilbert", tmp_path / "base")
    whole = train(base, pairs, tmp_path / "whole", clock=clock).record
    assert (whole["updates"], whole["seconds"]) == (30, 30)
    for at in (3, 11, 22):
        with pytest.raises(Killed):
            train(base, pairs, tmp_path / "interrupted", kill_at=at, clock=clock)
        assert not (tmp_path / "interrupted" / "config.json").exists()
    # As if killed while a checkpoint was written.
    checkpoints = TrainingFolder(tmp_path / "interrupted").checkpoints
    newest = find_last_checkpoint(checkpoints)
    assert newest is not None
    assert newest.name == "checkpoint-20"
    (checkpoints / "checkpoint-25").mkdir()
    # 20 seconds to the last whole checkpoint, and 10 from there.
    assert train(base, pairs, tmp_path / "interrupted", clock=clock).record["seconds"] == 30
    weights, log = outcome(tmp_path / "interrupted")
    expected, expected_log = outcome(tmp_path / "whole")
    assert log == expected_log
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    # Of which a model's fingerprint is made, too.
    tokenizers = [(tmp_path / name / "tokenizer.json").read_bytes() for name in ("whole", "interrupted")]
    assert tokenizers[0] == tokenizers[1]
    assert not (tmp_path / "interrupted" / ".training").exists()


def test_other_settings_do_not_resume(tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 200)
    base = make_model("llama", tmp_path / "base")
    with pytest.raises(Killed):
        train(base, pairs, tmp_path / "head", kill_at=1)
    with pytest.raises(UsageError, match=r"unfinished training with other settings \(options\)"):
        train(base, pairs, tmp_path / "head", seed=5)
    head = train(base, pairs, tmp_path / "head")
    with pytest.raises(UsageError, match="finished head"):
        train(base, pairs, head.out)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep me")
    with pytest.raises(UsageError, match="holds other files"):
        train(base, pairs, tmp_path / "mine")


def test_early_stopping_keeps_the_best_weights_and_is_resumed_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = make_pairs(tmp_path / "pairs", 600)
    base = make_model("llama", tmp_path / "base")
    evaluated: list[torch.Tensor] = []

    def never_lower_than_at_first(module: Any, **_: Any) -> dict[str, float]:
        evaluated.append(module.head[0].weight.detach().clone())
        return {"loss": 1.0, "accuracy": 50.0}

    monkeypatch.setattr(head_training, "compute_validation_metrics", never_lower_than_at_first)
    whole = train(base, pairs, tmp_path / "whole", early_stop=2).record
    assert (whole["updates"], len(evaluated)) == (15, 3)  # of 30, with an evaluation every 5
    best = load_file(tmp_path / "whole" / "head.safetensors")["0.weight"]
    assert [torch.equal(best, weight) for weight in evaluated] == [True, False, False]
    with pytest.raises(Killed):
        train(base, pairs, tmp_path / "interrupted", early_stop=2, kill_at=12)

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(
            head_training, "compute_logits", killed
        )  # when the held-out pairs are decided, after the last update
        with pytest.raises(Killed):
            train(base, pairs, tmp_path / "interrupted", early_stop=2)
    assert train(base, pairs, tmp_path / "interrupted", early_stop=2).record["updates"] == 15
    weights, log = outcome(tmp_path / "interrupted")
    expected, expected_log = outcome(tmp_path / "whole")
    assert log == expected_log
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
