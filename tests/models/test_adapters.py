"""PEFT adapters, alone and as BASE+ADAPTER: merging, fingerprints, and errors for mismatches."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as t
from safetensors.torch import load_file, save_file

from tests.models.asking import answers
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made, saved
from tests.models.tiny_tokenizers import word_level, word_piece
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import ModelError
from tiltmeter.models import adapters
from tiltmeter.models.adapters import split_adapter_name
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.runs.evaluate import evaluate

peft = pytest.importorskip("peft", reason="PEFT is not installed: pip install 'tiltmeter[peft]'")

ALL = {**MASKED, **CAUSAL, **SEQ2SEQ}
TARGETS = {"llama": ["q_proj", "v_proj"], "gpt2": ["c_attn"], "bert": ["query"], "t5": ["q"]}


def base_and_adapter(folder: Path, name: str = "llama", **options: Any) -> tuple[str, str]:
    """The folders of a base model and of a LoRA adapter for it with random weights."""
    base = saved(folder / "base", made(ALL[name]), word_piece())
    loaded = type(made(ALL[name])).from_pretrained(base)
    config = {"r": 2, "lora_alpha": 6, "target_modules": TARGETS[name], "fan_in_fan_out": name == "gpt2", **options}
    adapted = peft.get_peft_model(loaded, peft.LoraConfig(**config))
    torch.manual_seed(2)
    with torch.no_grad():
        for key, parameter in adapted.named_parameters():
            if "lora_" in key:
                parameter.normal_(0, 0.3)
    adapted.save_pretrained(str(folder / "adapter"))
    return base, str(folder / "adapter")


def change(folder: str, **values: Any) -> None:
    path = Path(folder, "adapter_config.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize("name", TARGETS)
def test_an_adapter_is_merged_into_its_base(name: str, tmp_path: Path) -> None:
    base, adapter = base_and_adapter(tmp_path, name)
    # By hand: W + alpha / r * B A, written into a folder of its own.
    merged = type(made(ALL[name])).from_pretrained(base)
    weights = load_file(Path(adapter, "adapter_model.safetensors"))
    matrices = {key for key in weights if key.endswith("lora_A.weight")}
    assert matrices
    for key in matrices:
        change_of = 3 * weights[key.replace("lora_A", "lora_B")] @ weights[key]
        weight = merged.get_parameter(key.removeprefix("base_model.model.").replace(".lora_A", ""))
        with torch.no_grad():
            weight += change_of.T if name == "gpt2" else change_of
    by_hand = answers(open_model(saved(tmp_path / "merged", merged, word_piece())))
    for given in (f"{base}+{adapter}", adapter):
        model = open_model(given)
        assert model.name == given
        assert [pytest.approx(row, abs=1e-4) for row in by_hand] == answers(model)
    assert [pytest.approx(row, abs=1e-2) for row in by_hand] != answers(open_model(base))


def test_the_base_may_be_named_relative_to_the_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, adapter = base_and_adapter(tmp_path)
    change(adapter, base_model_name_or_path="../base")
    monkeypatch.chdir("/")
    assert open_model(adapter).checkpoint.folder.samefile(base)


def test_base_and_adapter_are_in_the_fingerprint_and_in_the_manifest(tmp_path: Path) -> None:
    base, adapter = base_and_adapter(tmp_path / "one")
    first = open_model(f"{base}+{adapter}").fingerprint("causal")
    assert open_model(adapter).fingerprint("causal") == first
    assert open_model(base).fingerprint("causal") != first
    # Elsewhere and under other names they are the same.
    for name in ("base", "adapter"):
        shutil.copytree(tmp_path / "one" / name, tmp_path / f"z{name}"[::-1])
    assert open_model(f"{tmp_path}/esabz+{tmp_path}/retpadaz").fingerprint("causal") == first
    weights = load_file(Path(adapter, "adapter_model.safetensors"))
    save_file({key: value + 1e-3 for key, value in weights.items()}, Path(adapter, "adapter_model.safetensors"))
    second = open_model(adapter).fingerprint("causal")
    change(adapter, lora_alpha=7)
    third = open_model(adapter).fingerprint("causal")
    made(CAUSAL["llama"], seed=9).save_pretrained(base)
    assert len({first, second, third, open_model(adapter).fingerprint("causal")}) == 4
    about = open_model(adapter).describe()
    assert (about["base"], about["adapter"]["name"], about["adapter"]["type"]) == (base, adapter, "LORA")


def test_a_run(tmp_path: Path) -> None:
    base, adapter = base_and_adapter(tmp_path)
    result = evaluate([base, f"{base}+{adapter}"], "starter-pairs:en", limit=3)
    plain, adapted = (table["score"].tolist() for _, table in result.scores.groupby("model", sort=False))
    assert plain != adapted
    assert result.manifest.models[1].details["adapter"]["name"] == adapter


def test_the_tokenizer_that_was_saved_with_the_adapter(tmp_path: Path) -> None:
    base, adapter = base_and_adapter(tmp_path)
    before = open_model(adapter).fingerprint("causal")
    word_level(bos_token="<s>").save_pretrained(adapter)
    model = open_model(adapter)
    assert model.tokenizer.bos_token == "<s>"
    assert model.fingerprint("causal") != before
    assert open_model(base).tokenizer.bos_token is None
    larger = word_level(bos_token="<s>")
    larger.add_tokens([f"extra{number}" for number in range(60)])
    larger.save_pretrained(adapter)
    with raises_mentioning(ModelError, f"adapter {adapter}", "tokens", "only 50"):
        open_model(adapter)


def test_an_adapter_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, adapter = base_and_adapter(tmp_path)
    change(adapter, base_model_name_or_path="some/base", revision="v3")
    asked = []

    def hub(name: str, **options: Any) -> str:
        asked.append((name, options["revision"]))
        return base if name == "some/base" else adapter

    monkeypatch.setattr("huggingface_hub.snapshot_download", hub)
    model = open_model("some/adapter@v2")
    assert asked == [("some/adapter", "v2"), ("some/base", "v3")]
    assert model.describe()["adapter"]["revision"] == "adapter"
    assert model.checkpoint.name == "some/base@v3"


def test_names(tmp_path: Path) -> None:
    (tmp_path / "a+b").mkdir()
    assert split_adapter_name(str(tmp_path / "a+b")) == (str(tmp_path / "a+b"), None)
    assert split_adapter_name(f"x/y@1+{tmp_path}/a+b") == ("x/y@1", f"{tmp_path}/a+b")
    assert split_adapter_name("x/y+u/v@2") == ("x/y", "u/v@2")
    with raises_mentioning(ModelError, "'gpt2+'", "BASE+ADAPTER"):
        split_adapter_name("gpt2+")


def wider(folder: Path) -> str:
    config = t.LlamaConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2)
    return saved(folder, t.LlamaForCausalLM(config), word_piece())


def deeper(folder: Path, layers: int = 3) -> str:
    config = made(CAUSAL["llama"]).config
    config.num_hidden_layers = layers
    return saved(folder, t.LlamaForCausalLM(config), word_piece())


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (wider, "size mismatch"),
        (deeper, "layers.2"),
        (lambda folder: deeper(folder, 1), "layers.1"),
        (lambda folder: saved(folder, made(CAUSAL["gpt2"]), word_piece()), "target"),
    ],
    ids=["wider", "deeper", "shallower", "other architecture"],
)
def test_a_base_and_an_adapter_that_do_not_match(other: Any, reason: str, tmp_path: Path) -> None:
    _, adapter = base_and_adapter(tmp_path)
    model = open_model(f"{other(tmp_path / 'other')}+{adapter}")
    with raises_mentioning(ModelError, f"adapter {adapter}", f"base model {tmp_path / 'other'}", reason):
        model.get_answerer("causal")


def test_adapters_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, adapter = base_and_adapter(tmp_path)

    def assert_rejected(name: str, *parts: str) -> None:
        with raises_mentioning(ModelError, *parts):
            open_model(name)

    assert_rejected(f"{base}+{base}", base, "no adapter_config.json")
    assert_rejected(f"{adapter}+{adapter}", adapter, "an adapter itself")
    with monkeypatch.context() as patch:
        patch.setattr(adapters, "find_spec", lambda _name: None)
        assert_rejected(adapter, adapter, "'tiltmeter[peft]'")
    change(adapter, base_model_name_or_path="no such model!")
    assert_rejected(adapter, f"BASE+{adapter}", "'no such model!'")
    change(adapter, base_model_name_or_path=None)
    assert_rejected(adapter, "no base model", f"BASE+{adapter}")
    prompt = {"peft_type": "PROMPT_TUNING", "task_type": "CAUSAL_LM", "num_virtual_tokens": 2}
    Path(adapter, "adapter_config.json").write_text(json.dumps(prompt))
    assert_rejected(f"{base}+{adapter}", adapter, "PROMPT_TUNING")
    Path(adapter, "adapter_config.json").write_text(json.dumps({"peft_type": "NEW"}))
    assert_rejected(f"{base}+{adapter}", adapter, "PEFT", "NEW")
    Path(adapter, "adapter_config.json").write_text("{")
    assert_rejected(adapter, f"adapter_config.json of {adapter}")
    Path(adapter, "adapter_model.safetensors").unlink()
    assert_rejected(f"{base}+{adapter}", adapter, "adapter_model.safetensors or adapter_model.bin")


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    base, adapter = base_and_adapter(tmp_path)
    other = wider(tmp_path / "other")
    capsys.readouterr()
    assert command(monkeypatch, "run", f"{other}+{adapter}", "--on", "starter-pairs:en", "--limit", "2") == 2
    error = capsys.readouterr().err
    assert_mentions(error, adapter, other, "size mismatch")
    assert error.count("\n") == 1
    assert command(monkeypatch, "run", f"{base}+{adapter}", "--on", "starter-pairs:en", "--limit", "2") == 0


def test_an_adapter_on_a_model_that_is_split(tmp_path: Path) -> None:
    _, adapter = base_and_adapter(tmp_path)
    whole, split = open_model(adapter), open_model(adapter, max_memory={"cpu": "14KB"})
    assert [pytest.approx(row, abs=1e-5) for row in answers(whole)] == answers(split)
    assert "disk" in split.describe()["split"]
    split.close()
