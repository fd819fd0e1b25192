"""Speed-ups: all of them can be left out, and none that changes numbers is used."""

import gc
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

from tests.engine.asked import ANSWERERS, CPU, MODELS, answers, assert_equals_forward_pass, kind_of, random_questions
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, VOCABULARY, made
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.engine import speedups
from tiltmeter.engine.batch_effects import BatchEffects
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.equivalence import EquivalenceCheck, Rows
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.next_sentence import NextSentenceAnswerer
from tiltmeter.engine.seq2seq import Seq2seqAnswerer
from tiltmeter.engine.speedups import activations, last_layer, norms, packing, wanted_positions
from tiltmeter.engine.speedups.speedup import SpeedUp
from tiltmeter.questions import Question, WantedQuantity


def test_names_are_those_of_the_files_and_docstrings_have_all_headings() -> None:
    folder = Path(speedups.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", "speedup", *speedups.NAMES}
    for name in speedups.NAMES:
        assert speedups.load_speedup(name).name == name
        docstring = (folder / f"{name}.py").read_text(encoding="utf-8").split('"""')[1]
        assert all(heading in docstring for heading in ("Saves:", "Relies on:", "Check:"))
        assert ("fails:" in docstring) or name == "gc_pause"


@pytest.mark.parametrize("name", MODELS)
def test_plain_and_fast_answers_equal_a_forward_pass(name: str) -> None:
    kind = kind_of(name)
    questions = random_questions(kind, 8)
    model = made(MODELS[name])
    bare = ANSWERERS[kind](model, CPU, speedups.ALL)
    assert (bare.speedups, bare.layout.pack, bare.layout.shares_prefixes) == ((), 0, False)
    assert not any("forward" in vars(part) or part._forward_hooks for part in model.modules())
    assert_equals_forward_pass(bare, MODELS[name], questions)
    found, fast = answers(bare, questions), answers(ANSWERERS[kind](made(MODELS[name]), CPU), questions)
    for digest, answer in found.items():
        np.testing.assert_allclose(answer, fast[digest], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("want", [WantedQuantity.LOG_PROB_AND_TOP, WantedQuantity.LOGIT])
@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "gemma2"])
def test_plain_answers_of_other_wants(name: str, want: WantedQuantity) -> None:
    kind = kind_of(name)
    questions = random_questions(kind, 9, want)
    found = [answers(ANSWERERS[kind](made(MODELS[name]), CPU, out), questions) for out in (speedups.ALL, ())]
    for digest, answer in found[0].items():
        np.testing.assert_allclose(answer, found[1][digest], atol=1e-5, rtol=1e-5)


def test_the_plain_next_sentence_head() -> None:
    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24
    )

    def make() -> Any:
        return made(lambda: transformers.BertForNextSentencePrediction(config))

    questions = [Question(q.ids, ((0, 0),), segments=(0,) * len(q.ids)) for q in random_questions("masked", 3)]
    fast, bare = NextSentenceAnswerer(make(), CPU), NextSentenceAnswerer(make(), CPU, speedups.ALL)
    assert set(fast.speedups) >= {"last_layer", "packing"}
    assert bare.speedups == ()
    found, expected = answers(fast, questions), answers(bare, questions)
    for digest, answer in found.items():
        np.testing.assert_allclose(answer, expected[digest], atol=1e-5)


@pytest.mark.parametrize("left_out", speedups.MODEL_SPEEDUPS)
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_each_can_be_left_out_alone(name: str, left_out: str) -> None:
    kind = kind_of(name)
    answerer = ANSWERERS[kind](made(MODELS[name]), CPU, {left_out})
    assert left_out not in answerer.speedups
    assert_equals_forward_pass(answerer, MODELS[name], random_questions(kind, 5, n=15))


def test_an_unknown_name_is_an_error() -> None:
    with raises_mentioning(ValueError, "haste", "activations, norms"):
        MaskedAnswerer(made(MASKED["bert"]), CPU, {"haste"})


class _Relu(nn.Module):
    def forward(self, states: Tensor) -> Tensor:
        return states.relu()


def test_a_wrong_activation_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activations, "TanhGelu", _Relu)
    questions = random_questions("causal", 4)
    # It differs from the module that it would replace,
    answerer = CausalAnswerer(made(CAUSAL["gpt2"]), CPU)
    assert "activations" not in answerer.speedups
    assert_equals_forward_pass(answerer, CAUSAL["gpt2"], questions)
    # and so does the check of the whole model, which gives the reason.
    monkeypatch.setattr(activations, "_is_equivalent", lambda *_: True)
    answerer = CausalAnswerer(made(CAUSAL["gpt2"]), CPU)
    assert "activations" not in answerer.speedups
    assert "packing" in answerer.speedups
    assert "changes numbers" in answerer.disabled["activations"]
    assert not any(isinstance(module, _Relu) for module in answerer.model.modules())
    assert_equals_forward_pass(answerer, CAUSAL["gpt2"], questions)


@pytest.mark.parametrize("name", ["llama", "t5"])
def test_a_wrong_norm_is_not_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(states: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        return weight * (states - states.mean(-1, keepdim=True)) * (states.var(-1, keepdim=True) + epsilon).rsqrt()

    kind = kind_of(name)
    monkeypatch.setattr(norms, "_compute_rms_norm", wrong)
    questions = random_questions(kind, 4)
    assert "norms" not in ANSWERERS[kind](made(MODELS[name]), CPU).speedups
    monkeypatch.setattr(norms, "_is_rms_norm", lambda *_: True)
    answerer = ANSWERERS[kind](made(MODELS[name]), CPU)
    assert "norms" not in answerer.speedups
    assert "norms" in answerer.disabled
    assert not any("forward" in vars(module) for module in answerer.model.modules())
    assert_equals_forward_pass(answerer, MODELS[name], questions)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_wrong_last_layer_is_not_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = kind_of(name)

    class Wrong(last_layer.LastLayer):
        """Restricts every matrix of the layer to read positions, also keys and values."""

        def __init__(self, model: nn.Module) -> None:
            super().__init__(model)
            self._single = [m for m, _, _ in self._matrices if m is not self._narrowing and m not in self._widening]

    monkeypatch.setattr(last_layer, "LastLayer", Wrong)
    answerer = ANSWERERS[kind](made(MODELS[name]), CPU)
    assert "last_layer" not in answerer.speedups
    assert "last_layer" in answerer.disabled
    assert_equals_forward_pass(answerer, MODELS[name], random_questions(kind, 4))


def test_a_wrong_projection_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(self: Any, states: Tensor, start: int, end: int) -> Tensor:
        return 2 * true_slice(self, states, start, end)

    true_slice = wanted_positions.ProjectingHead.compute_logit_slice
    monkeypatch.setattr(wanted_positions.ProjectingHead, "compute_logit_slice", doubled)
    answerer = MaskedAnswerer(made(MASKED["bert"]), CPU)
    assert "wanted_positions" not in answerer.speedups
    assert "wanted_positions" in answerer.disabled
    assert_equals_forward_pass(answerer, MASKED["bert"], random_questions("masked", 4))


def test_a_speed_up_that_raises_is_not_used() -> None:
    def refuse(_module: nn.Module, _args: Any, named: dict[str, Any]) -> None:
        if "position_ids" in named:
            raise RuntimeError("no positions, please")

    model = made(CAUSAL["gpt2"])
    model.register_forward_pre_hook(refuse, with_kwargs=True)
    answerer = CausalAnswerer(model, CPU)
    assert not {"packing", "prefixes"} & set(answerer.speedups)
    assert set(answerer.disabled) == {"packing", "prefixes"}
    assert_equals_forward_pass(answerer, CAUSAL["gpt2"], random_questions("causal", 4))


def test_why_a_speed_up_does_not_apply_is_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_answerer: Any, _check: Any) -> None:
        raise RuntimeError("weights on disk")

    monkeypatch.setattr(norms, "SPEEDUP", SpeedUp(name="norms", apply=refuse))
    with caplog.at_level(logging.DEBUG):
        answerer = CausalAnswerer(made(CAUSAL["llama"]), CPU)
    assert "norms" not in answerer.speedups
    assert "packing" in answerer.speedups
    assert_mentions(caplog.text, "speed-up norms", "RuntimeError: weights on disk")


def test_only_changes_of_rows_are_checked_on_the_long_input_and_only_logits_may_be_rounded_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked: list[tuple[Rows | None, bool]] = []

    class Noted(EquivalenceCheck):
        def gives_same_numbers(
            self, *, few: bool = False, rows: Rows | None = None, rounds_logits_less: bool = False
        ) -> bool:
            if not few:
                checked.append((rows, rounds_logits_less))
            return super().gives_same_numbers(few=few, rows=rows, rounds_logits_less=rounds_logits_less)

        def prepare_rows(self, rows: Rows) -> None:
            checked.append((rows, True))
            super().prepare_rows(rows)

    monkeypatch.setattr("tiltmeter.engine.equivalence.EquivalenceCheck", Noted)
    used = CausalAnswerer(made(CAUSAL["llama"]), CPU).speedups
    assert used == ("norms", "wanted_positions", "last_layer", "packing", "prefixes")
    of_rows = [("packed", True), ("packed", False), ("trees", True), ("trees", False)]
    assert checked == [(None, False), (None, True), (None, False), *of_rows]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_other_precisions_pass_the_checks_too(name: str, dtype: torch.dtype) -> None:
    used = ANSWERERS[kind_of(name)](made(MODELS[name]).to(dtype), CPU).speedups
    assert set(used) == set(ANSWERERS[kind_of(name)](made(MODELS[name]), CPU).speedups)


def test_large_half_precision_logits_may_be_rounded_less(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_float32(self: Any, states: Tensor, start: int, end: int) -> Tensor:
        """The projection of half-precision states as on a GPU."""
        return nn.functional.linear(states.float(), self._projection.weight[start:end].float())

    monkeypatch.setattr(wanted_positions.ProjectingHead, "compute_logit_slice", in_float32)
    model = made(CAUSAL["gpt2"])
    with torch.no_grad():
        model.transformer.ln_f.weight.mul_(60)
    assert "wanted_positions" in CausalAnswerer(model.to(torch.bfloat16), CPU).speedups


def test_without_relative_positions_t5_has_no_packed_rows() -> None:
    answerer = Seq2seqAnswerer(made(SEQ2SEQ["t5"]), CPU, {"relative_positions"})
    assert set(answerer.speedups) == {"norms", "wanted_positions", "last_layer", "encode_once"}
    answerer = Seq2seqAnswerer(made(SEQ2SEQ["t5"]), CPU, {"encode_once"})
    assert not {"packing", "prefixes", "encode_once"} & set(answerer.speedups)


@pytest.mark.parametrize("was_on", [True, False])
def test_the_garbage_collector_is_restored_after_a_run(was_on: bool) -> None:
    before = gc.isenabled()
    (gc.enable if was_on else gc.disable)()
    try:
        with speedups.apply_process_speedups():
            assert not gc.isenabled()
        assert gc.isenabled() == was_on
        with speedups.apply_process_speedups({"gc_pause"}):
            assert gc.isenabled() == was_on
        with pytest.raises(KeyError), speedups.apply_process_speedups():
            raise KeyError
        assert gc.isenabled() == was_on
    finally:
        (gc.enable if before else gc.disable)()


def test_a_speed_up_that_does_not_apply_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "SPEEDUP", SpeedUp(name="packing"))
    assert "packing" not in MaskedAnswerer(made(MASKED["bert"]), CPU).speedups


def _state(answerer: Any) -> dict[str, Any]:
    """All that a speed-up may change."""
    names = ("layout", "masks", "restrict_to_positions", "head", "encodes_once", "encoder_at", "decoder_at")
    found = {name: getattr(answerer, name) for name in names if hasattr(answerer, name)}
    parts = {name: (type(part), "forward" in vars(part)) for name, part in answerer.model.named_modules()}
    return {**found, "parts": parts}


@pytest.mark.parametrize(
    ("name", "applicable"),
    [
        ("bert", {"wanted_positions", "last_layer", "packing"}),
        ("gpt2", {"activations", "wanted_positions", "last_layer", "packing", "prefixes"}),
        ("llama", {"norms", "wanted_positions", "last_layer", "packing", "prefixes"}),
        ("t5", {"norms", "wanted_positions", "last_layer", "encode_once", "relative_positions", "packing", "prefixes"}),
    ],
)
def test_each_can_be_undone(name: str, applicable: set[str]) -> None:
    answerer: Any = ANSWERERS[kind_of(name)](made(MODELS[name]), CPU, speedups.ALL)
    with torch.inference_mode():
        check = EquivalenceCheck(answerer, BatchEffects(answerer))
        check.prepare_rows("packed")
        check.prepare_rows("trees")
        undone = []
        for left in speedups.MODEL_SPEEDUPS:
            before = _state(answerer)
            undo = speedups.load_speedup(left).apply(answerer, check)
            assert (undo is not None) == (left in applicable)
            if undo is None:
                assert _state(answerer) == before
                continue
            after = _state(answerer)
            assert after != before
            undo()
            assert _state(answerer) == before
            undone.append(left)
            # Those after it may need it.
            speedups.load_speedup(left).apply(answerer, check)
            assert _state(answerer).keys() == after.keys()
    assert set(undone) == applicable
