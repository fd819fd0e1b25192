"""`BiasCallback` with the real trainer of transformers."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)

from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter import BiasCallback, evaluate, load_run
from tiltmeter.errors import UsageError
from tiltmeter.models.in_memory_model import wrap_loaded_model

NAME = "eval_bias/starter_pairs.en.all.likelihood.cps"


class Tracker(TrainerCallback):
    """Stands for the callback of a tracker: records what the trainer logs, by step."""

    def __init__(self) -> None:
        self.logged: list[tuple[int, dict[str, float]]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        self.logged.append((state.global_step, dict(logs)))

    def list_steps(self, name: str) -> list[int]:
        return [step for step, logs in self.logged if name in logs]


def build_trainer(folder: str, out: Path, *, steps: int = 5, **arguments: Any) -> tuple[Any, Tracker]:
    torch.manual_seed(1)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = [{"input_ids": [3 + n % 7, 5, 9, 4 + n % 5], "labels": [3 + n % 7, 5, 9, 4 + n % 5]} for n in range(8)]
    settings = {"max_steps": steps, "logging_steps": 2, "learning_rate": 0.05, "per_device_train_batch_size": 2}
    settings |= {"use_cpu": True, "report_to": [], "save_strategy": "no", "disable_tqdm": True}
    options = TrainingArguments(str(out), **{**settings, **arguments})
    model, tracker = AutoModelForCausalLM.from_pretrained(folder), Tracker()
    given: dict[str, Any] = {"train_dataset": rows, "data_collator": default_data_collator, "callbacks": [tracker]}
    return Trainer(model, options, processing_class=tokenizer, **given), tracker


def test_a_training_is_measured_and_not_changed(causal: str, tmp_path: Path) -> None:
    alone, _ = build_trainer(causal, tmp_path / "alone")
    alone.train()
    trainer, tracker = build_trainer(causal, tmp_path / "trained")
    out = tmp_path / "bias"
    trainer.add_callback(BiasCallback(trainer, "starter-pairs:en", every=2, limit=30, out=out, name="made"))
    trainer.train()
    assert trainer.model.training
    trained, expected = trainer.model.state_dict(), alone.model.state_dict()
    assert all(torch.equal(trained[name], expected[name]) for name in expected)
    assert tracker.list_steps(NAME) == [0, 2, 4, 5]
    assert tracker.list_steps("loss") == [2, 4]
    after = evaluate((trainer.model, trainer.processing_class), "starter-pairs:en", limit=30)
    saved = load_run(out / "step-000005")
    (value,) = [r.value for r in after.records if (r.measure, r.view) == ("CPS", "all")]
    assert [r.value for r in saved.records if (r.measure, r.view) == ("CPS", "all")] == [value]
    assert [logs[NAME] for _, logs in tracker.logged if NAME in logs][-1] == value
    assert saved.manifest.models[0].name == "made step 5"
    (page,) = (out / "board" / "trends").glob("*.html")
    assert_mentions(page.read_text(encoding="utf-8"), "made", "CPS")
    with raises_mentioning(UsageError, str(out), "another training"):
        trainer.train()


def test_a_model_in_mixed_precision_is_measured_in_the_precision_of_its_weights(causal: str, tmp_path: Path) -> None:
    trainer, tracker = build_trainer(causal, tmp_path / "trained", steps=1, bf16=True)
    trainer.add_callback(BiasCallback(trainer, "starter-pairs:en", limit=30, out=tmp_path / "bias"))
    before = evaluate(wrap_loaded_model(trainer.model, trainer.processing_class), "starter-pairs:en", limit=30)
    trainer.train()
    (value,) = [r.value for r in before.records if (r.measure, r.view) == ("CPS", "all")]
    assert dict(tracker.logged)[0][NAME] == value
    assert load_run(tmp_path / "bias" / "step-000000").scores["score"].tolist() == before.scores["score"].tolist()


def test_the_best_model_is_measured_under_the_name_of_its_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = SimpleNamespace(model=SimpleNamespace(name_or_path="made"), processing_class=object())
    callback = BiasCallback(trainer, "starter-pairs:en", out=tmp_path)
    measured: list[int] = []
    monkeypatch.setattr(callback, "_try_to_measure", lambda step, _control: measured.append(step))
    monkeypatch.setattr("tiltmeter.integrations.bias_callback.write_board", lambda *_, **__: None)
    state = SimpleNamespace(is_world_process_zero=True, global_step=9, best_global_step=6, best_model_checkpoint="x")
    for is_loaded in (True, False):
        callback.on_train_end(SimpleNamespace(load_best_model_at_end=is_loaded), state, None)
    assert measured == [6, 9]


def test_settings_are_checked_before_the_training(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, _ = build_trainer(causal, tmp_path / "trained", steps=1)
    with raises_mentioning(UsageError, "every=0"):
        BiasCallback(trainer, "starter-pairs:en", every=0)
    trainer.add_callback(BiasCallback(trainer, "starter-pears:en", out=tmp_path / "bias"))
    with raises_mentioning(UsageError, "starter-pears"):
        trainer.train()
    monkeypatch.setattr(trainer, "is_fsdp_enabled", True)
    with raises_mentioning(UsageError, "FSDP"):
        BiasCallback(trainer, "starter-pairs:en").on_train_begin(None, trainer.state, trainer.control)
