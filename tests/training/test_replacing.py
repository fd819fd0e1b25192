"""Folders of heads: other models, older heads, and two trainings at the same time."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml

from tests.support.messages import raises_mentioning
from tests.training.made_task import make_model, make_pairs
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.models.checkpoint import Checkpoint
from tiltmeter.models.head_config import KEY, HeadConfig
from tiltmeter.progress.progress import Progress, hide_progress
from tiltmeter.training.head_card import render_head_card
from tiltmeter.training.head_evaluation import evaluate_head
from tiltmeter.training.head_training import TrainedHead, TrainingOptions, train_next_sentence
from tiltmeter.training.trainer import HeadTrainer
from tiltmeter.training.training_folder import TrainingFolder
from tiltmeter.training.training_recipe import LORA_RATE, TrainingRecipe, find_recipe

SHORT = TrainingRecipe(accumulation=1, batch=64, passes=1)


def trained(model: str, pairs: Path, out: Path, *, force: bool = False, **more: Any) -> TrainedHead:
    options = TrainingOptions(**{"checkpoints": 1, **more.pop("options", {})})
    head = train_next_sentence(model, pairs, out, options=options, cpu=True, force=force, **{"recipe": SHORT, **more})
    assert head is not None
    return head


def test_the_files_of_a_replaced_head_are_deleted(tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 300, languages=("en", "no"))
    base = make_model("llama", tmp_path / "base")
    out = tmp_path / "head"
    trained(base, pairs, out, options={"lora": True, "lora_rank": 4})
    assert "| rank of the adapter (LoRA) | 4 |" in (out / "README.md").read_text()
    (out / "notes.md").write_text("mine")
    head = trained(base, pairs, out, force=True)
    # transformers would load the old adapter with the new weights.
    assert not (out / "adapter_config.json").exists()
    assert (out / "notes.md").read_text() == "mine"
    assert not (out / ".lock").exists()
    assert evaluate_head(str(out), pairs, device="cpu") == list(head.accuracy)
    card = (out / "README.md").read_text()
    assert "LoRA" not in card
    front = yaml.safe_load(card.split("---")[1])
    assert front["language"] == ["en", "no"]
    assert "base_model" not in front
    assert "# A next-sentence head for base\n" in card
    assert str(tmp_path) not in card


def test_the_card_names_a_base_model_of_the_hub() -> None:
    head = HeadConfig(design="recommended", reading="mean", kind="causal", base="org/model", base_weights="")
    for checkpoint, expected in (
        (Checkpoint("org/model@v2", Path("cache"), revision="abc"), "org/model"),
        (Checkpoint("embedded", Path("package"), gguf="a.gguf", revision="0.1.2"), None),
        (Checkpoint("here/model.gguf", Path("here"), gguf="model.gguf"), None),
        (Checkpoint("here/model", Path("here/model")), None),
    ):
        card = render_head_card(SimpleNamespace(name=checkpoint.name, checkpoint=checkpoint), head, {})
        assert yaml.safe_load(card.split("---")[1]).get("base_model") == expected


@pytest.mark.parametrize("force", [False, True])
def test_the_model_itself_and_other_models_are_never_replaced(force: bool, tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 100)
    base = make_model("llama", tmp_path / "base")
    other = Path(make_model("gpt2", tmp_path / "other"))
    for out, part in ((Path(base), "the model itself"), (other, "not a next-sentence head")):
        before = {path.name: path.read_bytes() for path in out.iterdir()}
        with raises_mentioning(UsageError, str(out), part):
            trained(base, pairs, out, force=force)
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep me")
    with raises_mentioning(UsageError, "mine", "other files"):
        trained(base, pairs, tmp_path / "mine", force=force)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_two_trainings_cannot_share_a_folder(tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 200)
    base = make_model("llama", tmp_path / "base")
    messages: list[str] = []

    def report(progress: Progress) -> None:
        if progress.done == 1:
            with raises_mentioning(UsageError, "head", "another training") as error:
                trained(base, pairs, tmp_path / "head", force=True)
            messages.append(str(error.value))

    trained(
        base,
        pairs,
        tmp_path / "head",
        watch=lambda step: nullcontext(report) if step == "training" else hide_progress(step),
    )
    assert len(messages) == 1
    assert (tmp_path / "head" / "config.json").is_file()


def test_the_record_counts_the_updates_that_were_made(tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 740, articles=6)
    base = make_model("llama", tmp_path / "base")
    recipe = TrainingRecipe(batch=16, accumulation=1, passes=2)
    head = trained(base, pairs, tmp_path / "head", recipe=recipe, options={"checkpoints": 3})
    # 502 training pairs in batches of 16, twice; none are set aside; every third update is logged, without the last.
    logged = json.loads((tmp_path / "head" / "training.json").read_text())["log"]
    assert max(entry["step"] for entry in logged) == 63
    assert head.record["updates"] == 64


def test_a_model_with_an_adapter_is_not_trained_without_it(tmp_path: Path) -> None:
    import peft
    import transformers

    pairs = make_pairs(tmp_path / "pairs", 100)
    base = make_model("llama", tmp_path / "base")
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(base)
    peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=["q_proj"])).save_pretrained(tmp_path / "lora")
    with raises_mentioning(UsageError, "lora", "adapter; merge"):
        trained(f"{base}+{tmp_path / 'lora'}", pairs, tmp_path / "head")


def test_early_stopping_needs_articles_to_set_aside(tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 20, articles=6)
    base = make_model("llama", tmp_path / "base")
    with raises_mentioning(UsageError, "--early-stop", "1 in 100"):
        trained(base, pairs, tmp_path / "head", options={"early_stop": 2})


def test_the_rate_of_an_adapter_is_only_a_default() -> None:
    assert find_recipe("default", "causal", "llama", lora=True).core_rate == LORA_RATE
    assert find_recipe("default", "causal", "llama", lora=True).apply_changes(core_rate=1e-4).core_rate == 1e-4
    assert find_recipe("published", "seq2seq", "mt5", lora=True).core_rate == 1e-4


@pytest.mark.parametrize(
    ("raised", "parts"),
    [
        (OSError(28, "No space left on device"), ["head is full", "disk space"]),
        (RuntimeError("PytorchStreamWriter failed writing file"), ["head is full", "disk space"]),
        (torch.OutOfMemoryError("CUDA out of memory"), ["memory", "64 pairs", "--batch"]),
    ],
)
def test_too_little_space_is_an_error(
    raised: Exception, parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise raised

    pairs = make_pairs(tmp_path / "pairs", 100)
    base = make_model("llama", tmp_path / "base")
    with monkeypatch.context() as patched:
        patched.setattr(HeadTrainer, "_save_checkpoint", fail)
        patched.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=0))
        with raises_mentioning(TiltmeterError, *parts):
            trained(base, pairs, tmp_path / "head")
    with monkeypatch.context() as patched:
        patched.setattr(HeadTrainer, "_save_checkpoint", fail)
        if not isinstance(raised, torch.OutOfMemoryError):
            with pytest.raises(type(raised)):
                trained(base, pairs, tmp_path / "head")
    trained(base, pairs, tmp_path / "head")


def test_leftovers_of_a_finished_training_are_deleted(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({KEY: {}}), encoding="utf-8")
    (tmp_path / ".training" / "checkpoints").mkdir(parents=True)
    (tmp_path / ".lock").touch()
    with raises_mentioning(UsageError, str(tmp_path), "finished head"):
        TrainingFolder(tmp_path).reject_unusable_folder("base", force=False)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]
