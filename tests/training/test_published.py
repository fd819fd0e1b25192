"""The published head and recipe, compared with the formulas of the released code."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as t
from torch import nn

from tests.support.messages import assert_mentions, raises_mentioning
from tests.training.made_task import VOCABULARY, make_model, make_pairs, tokenizer
from tiltmeter.errors import ModelError, TiltmeterError, UsageError
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.models.head_text import HeadText
from tiltmeter.models.local_opener import open_local_model
from tiltmeter.models.next_sentence_model import build_head_module, load_core
from tiltmeter.training.head_design import design_head
from tiltmeter.training.head_evaluation import evaluate_head
from tiltmeter.training.head_training import TrainingOptions, train_next_sentence
from tiltmeter.training.released_heads import convert_released
from tiltmeter.training.training_recipe import PUBLISHED, TrainingRecipe, find_recipe

PAIRS = [("the rose is old .", "a tulip near the lawn ."), ("a lawn with a hedge .", "the soup is near the oven .")]


def test_the_recipes_have_the_values_of_paper_and_thesis() -> None:
    gpt2, t5, mt5 = PUBLISHED["gpt2"], PUBLISHED["t5"], PUBLISHED["mt5"]
    assert [(r.batch, r.accumulation) for r in (gpt2, t5, mt5)] == [(4, 16), (24, 3), (8, 8)]
    assert [r.batch * r.accumulation for r in (gpt2, t5, mt5)] == [64, 72, 64]
    assert [r.core_rate for r in (gpt2, t5, mt5)] == [5e-6, 5e-6, 1e-4]
    assert gpt2.head_rate == 1e-3
    assert [r.precision for r in (gpt2, t5, mt5)] == ["float16", "float32", "float32"]
    for recipe in (gpt2, t5, mt5):
        assert (recipe.clip, recipe.max_length, recipe.passes, recipe.weight_decay) == (1.0, 256, 1, 0.0)
        assert (recipe.schedule, recipe.by_length, recipe.fresh_negatives) == ("cosine_with_restarts", False, False)
        for steps in (1, 99, 100, 15_625):
            assert recipe.count_warm_up_steps(steps) == steps // 100 + 1


@pytest.mark.parametrize(
    ("kind", "model_type", "expected"),
    [("causal", "gpt2", "gpt2"), ("causal", "llama", "gpt2"), ("seq2seq", "t5", "t5"), ("seq2seq", "mt5", "mt5")],
)
def test_the_published_recipe_is_chosen_by_kind_and_type(kind: Any, model_type: str, expected: str) -> None:
    assert find_recipe("published", kind, model_type) is PUBLISHED[expected]


def test_there_is_no_published_recipe_for_masked_models() -> None:
    with raises_mentioning(UsageError, "--recipe published", "masked models"):
        find_recipe("published", "masked", "roberta")
    with raises_mentioning(UsageError, "--recipe newest", "default or published"):
        find_recipe("newest", "causal", "gpt2")


def published(name: str, folder: Path) -> tuple[Any, Any, Any]:
    """Return a base model, the config of its published head, and the module with random layers."""
    base = open_model(make_model(name, folder), device="cpu")
    head = design_head(base, "published", name=name, languages=("en", "de", "tr"), max_length=256)
    torch.manual_seed(3)
    return base, head, build_head_module(load_core(base, head), base.tokenizer, head).eval()


def test_the_published_head_of_a_causal_model_is_linear_on_the_mean_of_all_states(tmp_path: Path) -> None:
    base, head, module = published("gpt2", tmp_path)
    assert [type(layer) for layer in module.head] == [nn.Linear] * 3
    assert [layer.out_features for layer in module.head] == [300, 300, 2]
    encoded = HeadText(base.tokenizer, base.config, head).encode_pairs(PAIRS)
    for (first, second), pair in zip(PAIRS, encoded, strict=True):
        # The tokenizer of GPT-2 puts no token between the sentences.
        assert list(pair.ids) == base.tokenizer(first, second)["input_ids"]
        ids = torch.tensor([pair.ids])
        with torch.inference_mode():
            state = module.core(ids)[0].mean(dim=1)
            for layer in module.head:
                state = state @ layer.weight.T + layer.bias
            found = module(ids, torch.tensor([len(pair.ids)]))["logits"]
        torch.testing.assert_close(found, state)


def test_the_published_head_of_an_encoder_decoder_reads_the_second_generated_step(tmp_path: Path) -> None:
    base, head, module = published("t5", tmp_path)
    assert (head.step, head.prefix) == (1, "binary classification: ")
    assert head.prefixes == {"en": "binary classification: ", "de": "binäre Klassifikation: ", "tr": ""}
    zero, one = (base.tokenizer.convert_tokens_to_ids(label) for label in "01")
    assert head.labels == (zero, one)
    for pair in HeadText(base.tokenizer, base.config, head).encode_pairs(PAIRS):
        ids = torch.tensor([pair.ids])
        # The end token is excluded, because the released code fails if the first token ends the output.
        output = module.core.generate(
            input_ids=ids,
            min_new_tokens=0,
            max_length=3,
            output_scores=True,
            return_dict_in_generate=True,
            eos_token_id=len(VOCABULARY) + 5,
        )
        expected = output.scores[1][:, [zero, one]]
        with torch.inference_mode():
            found = module(ids, torch.tensor([len(pair.ids)]))["logits"]
        torch.testing.assert_close(found, expected)


def test_the_published_loss_of_an_encoder_decoder_is_that_of_the_label_token(tmp_path: Path) -> None:
    base, head, module = published("mt5", tmp_path)
    assert (head.prefix, dict(head.prefixes)) == ("", {})
    pair = HeadText(base.tokenizer, base.config, head).encode_pairs(PAIRS)[0]
    ids = torch.tensor([pair.ids])
    expected = module.core(input_ids=ids, labels=torch.tensor([[head.labels[1]]])).loss
    found = module(ids, torch.tensor([len(pair.ids)]), labels=torch.tensor([1]))["loss"]
    torch.testing.assert_close(found, expected)


class Released(nn.Module):
    """A module with the names of the released code."""

    def __init__(self, core: nn.Module, width: int) -> None:
        super().__init__()
        self.core_model = core
        self.nsp_head = nn.Sequential(nn.Linear(width, 300), nn.Linear(300, 300), nn.Linear(300, 2))


@pytest.mark.parametrize("nested", [True, False])
def test_a_released_file_of_a_causal_model_is_converted(nested: bool, tmp_path: Path) -> None:
    base = make_model("gpt2", tmp_path / "base")
    torch.manual_seed(8)
    core: Any = t.GPT2Model.from_pretrained(base)
    core.resize_token_embeddings(len(VOCABULARY) + 1)  # for <PAD>
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    released = Released(core, 32)
    state = {f"module.{name}": tensor for name, tensor in released.state_dict().items()}
    state["module.core_model.h.0.attn.masked_bias"] = torch.tensor(-1e4)
    torch.save({"model_state_dict": state, "epoch": 0} if nested else state, tmp_path / "gpt2_FINAL.pth")
    convert_released(tmp_path / "gpt2_FINAL.pth", base, tmp_path / "head")
    model: Any = open_local_model(str(tmp_path / "head"), device="cpu")
    module = model.get_answerer("next-sentence").model
    for (first, second), pair in zip(PAIRS, model.text.encode_pairs(PAIRS), strict=True):
        ids = torch.tensor([tokenizer("causal")(first, second)["input_ids"]])
        with torch.inference_mode():
            expected = released.nsp_head(core(ids)[0].mean(dim=1))
            found = module(torch.tensor([pair.ids]), torch.tensor([len(pair.ids)]))["logits"]
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    assert model.fingerprint("causal") == open_model(base, device="cpu").fingerprint("causal")
    card = (tmp_path / "head" / "README.md").read_text()
    assert "Converted by Tiltmeter" in card
    assert "Trained" not in card


def test_a_released_file_of_an_encoder_decoder_is_converted(tmp_path: Path) -> None:
    base = make_model("t5", tmp_path / "base")
    core: Any = t.T5ForConditionalGeneration.from_pretrained(base)
    with torch.no_grad():
        core.shared.weight.mul_(1.5)
    state = {f"module.{name}": tensor for name, tensor in Released(core, 32).state_dict().items()}
    torch.save({"model_state_dict": state}, tmp_path / "t5.pth")
    convert_released(tmp_path / "t5.pth", base, tmp_path / "head")
    model: Any = open_local_model(str(tmp_path / "head"), device="cpu")
    weight = model.get_answerer("next-sentence").model.core.shared.weight
    torch.testing.assert_close(weight, core.shared.weight, check_device=False)


class Evil:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, Any]:
        return (Path.touch, (self.path,))


def test_other_files_are_rejected_and_their_code_is_not_run(tmp_path: Path) -> None:
    base = make_model("gpt2", tmp_path / "base")
    trap = tmp_path / "ran"
    torch.save({"model_state_dict": {"module.core_model.x": Evil(trap)}}, tmp_path / "evil.pth")
    (tmp_path / "text.pth").write_text("no tensors")
    torch.save({"other": torch.zeros(1)}, tmp_path / "other.pth")
    state = {f"module.{n}": v for n, v in Released(t.GPT2Model.from_pretrained(base), 32).state_dict().items()}
    torch.save({**state, "module.core_model.extra": torch.zeros(1)}, tmp_path / "extra.pth")
    torch.save({k: v for k, v in state.items() if not k.endswith("ln_f.bias")}, tmp_path / "lacks.pth")
    torch.save(state, tmp_path / "flipped.pth")
    content = bytearray((tmp_path / "flipped.pth").read_bytes())
    weights = state["module.core_model.wte.weight"].numpy().tobytes()
    content[content.index(weights) + 100] ^= 0x10
    (tmp_path / "flipped.pth").write_bytes(content)
    for name, part in (
        ("flipped", "checksum"),
        ("evil", "contains code"),
        ("text", "contains code"),
        ("other", "core_model"),
        ("extra", "core.extra"),
        ("lacks", "core.ln_f.bias"),
    ):
        with raises_mentioning(TiltmeterError, f"{name}.pth", part):
            convert_released(tmp_path / f"{name}.pth", base, tmp_path / f"head-{name}")
        assert not (tmp_path / f"head-{name}").exists()
    assert not trap.exists()


STATE = {"module.core_model.x": torch.zeros(2)}
ODD: dict[str, tuple[Any, ...]] = {
    "a list": ([1, 2], "a list"),
    "a number": (3, "an int"),
    "a state that is a list": ({"model_state_dict": [1]}, "a list"),
    "a state that is a tensor": ({"model_state_dict": torch.zeros(3)}, "a Tensor"),
    "a state in a state": ({"model_state_dict": {"model_state_dict": STATE}}, "no tensors named core_model"),
    "names that are numbers": ({1: torch.zeros(2)}, "no tensors named core_model"),
    "a list for a tensor": ({"core_model.x": [0.0]}, "core_model.x is a list"),
    "whole numbers": ({"core_model.x": torch.zeros(2, dtype=torch.int64)}, "core_model.x", "int64"),
    "complex numbers": ({"core_model.x": torch.zeros(2, dtype=torch.complex64)}, "core_model.x", "complex64"),
    "a sparse tensor": ({"core_model.x": torch.zeros(2).to_sparse()}, "core_model.x", "sparse"),
    "a tensor without values": ({"core_model.x": torch.zeros(2, device="meta")}, "core_model.x", "without values"),
    "not finite": ({"core_model.x": torch.tensor([float("nan")])}, "core_model.x", "not finite"),
    "a tensor twice": ({**STATE, "core_model.x": torch.zeros(2)}, "core_model.x twice"),
}


@pytest.mark.parametrize("name", ODD)
def test_a_file_with(name: str, tmp_path: Path) -> None:
    content, *parts = ODD[name]
    torch.save(content, tmp_path / "odd.pth")
    with raises_mentioning(UsageError, "odd.pth", *parts):
        convert_released(tmp_path / "odd.pth", "no model is opened", tmp_path / "head")


def test_an_embedding_without_dimensions_is_rejected(tmp_path: Path) -> None:
    state = {"core_model.wte.weight": torch.tensor(1.0)}
    torch.save(state, tmp_path / "odd.pth")
    with raises_mentioning(ModelError, "odd.pth", "not a head"):
        convert_released(tmp_path / "odd.pth", make_model("gpt2", tmp_path / "base"), tmp_path / "head")


def test_the_published_head_and_recipe_train(tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 300)
    notes: list[str] = []
    head = train_next_sentence(
        make_model("gpt2", tmp_path / "base"),
        pairs,
        tmp_path / "head",
        recipe="published",
        options=TrainingOptions(design="published", checkpoints=1),
        cpu=True,
        tell=notes.append,
    )
    assert head is not None
    (note,) = notes
    assert_mentions(note, "float16", "float32")
    # 300 pairs, a fifth of them held out, a hundredth set aside; 64 pairs per update, and a last smaller one.
    assert head.record["updates"] == 4
    assert evaluate_head(str(tmp_path / "head"), pairs, device="cpu") == list(head.accuracy)


def test_invalid_recipes() -> None:
    for changes, parts in (
        ({"batch": 0}, ["batch", "not 0"]),
        ({"max_length": 4}, ["--max-length 4"]),
        ({"precision": "int8"}, ["--precision int8"]),
        ({"warm_up": 1.5}, ["--warm-up", "1.5"]),
        ({"warm_up": -1.0}, ["--warm-up", "-1.0"]),
    ):
        with raises_mentioning(UsageError, *parts):
            TrainingRecipe().apply_changes(**changes)
