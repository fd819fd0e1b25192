"""The equivalence check of speed-ups: what its synthetic inputs cover, and what it rejects."""

from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from tests.engine.asked import ANSWERERS, CPU, MODELS, kind_of
from tests.models.tiny import CAUSAL, MASKED, VOCABULARY, made
from tiltmeter.engine import equivalence
from tiltmeter.engine.batch_effects import BatchEffects
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_plan import LARGEST_TREE, plan_batches
from tiltmeter.engine.batch_rows import Batch, Row
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.speedups import ALL
from tiltmeter.engine.speedups.wanted_positions import ProjectingHead
from tiltmeter.engine.vocabulary_head import VocabularyHead
from tiltmeter.questions import WantedQuantity

# Torch warns on processors without instructions for bfloat16.
pytestmark = pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")


def wide_gpt2() -> Any:
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=64, n_embd=16, n_layer=1, n_head=2))


def plain(name: str, dtype: torch.dtype = torch.float32) -> Any:
    return ANSWERERS[kind_of(name)](made(MODELS[name]).to(dtype), CPU, ALL)


def check_of(answerer: Any) -> equivalence.EquivalenceCheck:
    return equivalence.EquivalenceCheck(answerer, BatchEffects(answerer))


def rows_of(answerer: Any, rows: equivalence.Rows, layout: BatchLayout) -> list[Row]:
    """The rows in which the planner lays out the inputs of a check."""
    check = check_of(answerer)
    check.prepare_rows(rows)
    questions = [*check._rows[rows], *check._everywhere]
    return [row for batch in plan_batches(questions, answerer.kind, 4096, layout) for row in batch]


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_inputs_of_the_check_fill_packed_rows(name: str) -> None:
    answerer = plain(name)
    width = answerer.compute_pack_width()
    rows = rows_of(answerer, "packed", BatchLayout(pack=width))
    assert [len(row.ids) for row in rows] == [width] * 3
    lengths = sorted(sorted(row.lengths, reverse=True) for row in rows)
    # One long input with all short ones; equal inputs; the longest input that leaves room for another.
    assert [len(own) for own in lengths] == [3, 5, 2]
    assert lengths[-1] == [width - 1, 1]
    repeated = [set(row.ids[1:20]) for row in rows if len(row.lengths) == 3]
    assert [len(tokens) for tokens in repeated] == [1]


def test_inputs_of_the_check_make_the_deepest_and_the_widest_tree() -> None:
    answerer = CausalAnswerer(made(wide_gpt2), CPU, ALL)
    rows = rows_of(answerer, "trees", BatchLayout(pack=answerer.compute_pack_width(), shares_prefixes=True))
    assert max(len(row.ids) for row in rows) == LARGEST_TREE
    trees = [row for row in rows if row.ends and not row.lengths]
    # A prefix and two branches of equal length.
    assert [(len(row.ids), max(row.depths)) for row in trees] == [(LARGEST_TREE, 2 * LARGEST_TREE // 3 - 1)]
    short = [row for row in rows if row.lengths]
    assert any(max(row.depths) > 20 and len(set(row.lengths)) > 1 for row in short)


def test_short_inputs_make_a_tree_with_two_branchings_and_a_single_input() -> None:
    answerer = plain("gpt2")
    short = check_of(answerer)._everywhere
    trees = [row for batch in plan_batches(short, "causal", 1000, BatchLayout(shares_prefixes=True)) for row in batch]
    assert sorted(row.depths for row in trees) == [(), (0, 1, 2, 3, 3, 4, 2)]
    assert all(token < VOCABULARY for question in short for token in question.ids)


def test_each_short_source_has_two_targets() -> None:
    short = check_of(plain("t5"))._everywhere
    assert [sum(q.source == source for q in short) for source in {q.source for q in short}] == [2, 2]


class Shifted(VocabularyHead):
    """Adds constants to its numbers."""

    def __init__(self, model: Any, log_probs: float = 0.0, logits: float = 0.0) -> None:
        super().__init__(model)
        self._compute_log_probs, self._logits = log_probs, logits

    def compute_log_probs(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        values, tops = super().compute_log_probs(states, which, tokens)
        return values + self._compute_log_probs, tops

    def compute_token_logits(self, states: Tensor, which: Tensor, tokens: Tensor) -> Tensor:
        return super().compute_token_logits(states, which, tokens) + self._logits


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
@pytest.mark.parametrize(
    ("dtype", "log_probs", "logits", "passes"),
    [
        (torch.float32, 0.0, 0.0, True),
        (torch.float32, 5e-5, -5e-5, True),
        (torch.float32, 5e-4, 0.0, False),
        (torch.float32, 2e-3, 0.0, False),
        (torch.float32, 0.0, 2e-3, False),
        (torch.float32, torch.nan, 0.0, False),
        (torch.float16, 1e-2, 0.0, True),
        (torch.float16, 3e-2, 0.0, False),
        (torch.bfloat16, 5e-2, 0.0, True),
        (torch.bfloat16, 2e-1, 0.0, False),
        # Half precision rounds large logits coarsely, so they are not compared.
        (torch.bfloat16, 0.0, 3.0, True),
    ],
)
def test_numbers_that_differ_by_more_than_rounding_fail(
    name: str, dtype: torch.dtype, log_probs: float, logits: float, passes: bool
) -> None:
    answerer = plain(name, dtype)
    with torch.inference_mode():
        check = check_of(answerer)
        answerer.head = Shifted(answerer.model, log_probs, logits)
        assert check.gives_same_numbers() == passes
        assert check.gives_same_numbers(few=True) == passes


def test_an_accepted_change_is_the_reference_of_the_next() -> None:
    answerer = plain("bert")
    with torch.inference_mode():
        check = check_of(answerer)
        answerer.head = Shifted(answerer.model, 8e-5)
        assert check.gives_same_numbers()
        answerer.head = Shifted(answerer.model, 16e-5)
        assert not check.gives_same_numbers()
        answerer.head = Shifted(answerer.model, 8e-5)
        assert check.gives_same_numbers()
        check.accept_last_numbers()
        answerer.head = Shifted(answerer.model, 16e-5)
        assert check.gives_same_numbers()


def test_an_error_is_a_failure() -> None:
    answerer = plain("bert")
    with torch.inference_mode():
        check = check_of(answerer)
        answerer.head = None
        assert not check.gives_same_numbers()


def test_the_long_input_is_compared_if_rows_change() -> None:
    answerer = plain("gpt2")

    class WrongBeyond(VocabularyHead):
        def compute_states(self, inputs: Any, rows: Tensor, only_at: Any) -> Tensor:
            wrong = inputs["input_ids"].shape[1] > 20
            return super().compute_states(inputs, rows, only_at) * (2 if wrong else 1)

    with torch.inference_mode():
        check = check_of(answerer)
        check.prepare_rows("packed")
        assert check.gives_same_numbers(rows="packed")
        answerer.head = WrongBeyond(answerer.model)
        assert check.gives_same_numbers()
        assert check.gives_same_numbers(few=True, rows="packed")
        assert not check.gives_same_numbers(rows="packed")
        check.prepare_rows("packed")  # does not replace the reference
        assert not check.gives_same_numbers(rows="packed")


@pytest.mark.parametrize("scale", [1, 60])
def test_logits_that_are_rounded_less_may_differ_by_the_rounding_of_the_largest(scale: float) -> None:
    model = made(CAUSAL["gpt2"])
    with torch.no_grad():
        model.transformer.ln_f.weight.mul_(scale)
    answerer = CausalAnswerer(model.to(torch.bfloat16), CPU, ALL)
    with torch.inference_mode():
        check = check_of(answerer)
        sizes = [0.0]
        for question in check._few:
            logits = model(torch.tensor([question.ids])).logits[0, -1].float()
            # The token's logit, or the log-normaliser, which is close to the largest logit.
            sizes += [float(logits[question.wanted[0][1]].abs()), float(logits.logsumexp(dim=0).abs())]
        assert check._largest_logit == pytest.approx(max(sizes), rel=0.02)
        allowed = max(0.1, 2**-7 * max(sizes))
        # Far from the limit: to the shift is added the rounding of the model itself, which depends on the processor.
        for share, passes in ((0.4, True), (1.8, False)):
            answerer.head = Shifted(model, share * allowed)
            assert check.gives_same_numbers(rounds_logits_less=True) == passes
            assert check.gives_same_numbers() == (share * allowed < 0.1)


def test_wrong_logits_are_found_even_if_log_probabilities_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ProjectingHead.compute_token_logits
    monkeypatch.setattr(ProjectingHead, "compute_token_logits", lambda *given: right(*given) + 1)
    assert "wanted_positions" not in MaskedAnswerer(made(MASKED["bert"]), CPU).speedups


def test_questions_about_logits_are_those_that_read_few_positions() -> None:
    answerer = plain("t5")
    few = check_of(answerer)._inputs.build_end_questions([(5, 6, 7), (8, 9)])
    found = equivalence._build_logit_questions(answerer, few)
    assert [(q.ids, q.wanted, q.source, q.want) for q in found] == [
        (q.ids, q.wanted, q.source, WantedQuantity.LOGIT) for q in few
    ]


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_the_reference_is_asked_one_input_at_a_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answerer = ANSWERERS[kind_of(name)](made(MODELS[name]), CPU, ALL - {"packing"})
    sent: list[list[int]] = []
    true_answer = answerer.answer_batch

    def noted(batch: Batch) -> Any:
        sent.append([len(row.ids) for row in batch])
        return true_answer(batch)

    with torch.inference_mode():
        effects = BatchEffects(answerer)
        monkeypatch.setattr(answerer, "answer_batch", noted)
        check = equivalence.EquivalenceCheck(answerer, effects)
        check.prepare_rows("packed")
        assert all(len(lengths) == 1 for lengths in sent)
        sent.clear()
        assert check.gives_same_numbers(rows="packed")
    assert any(len(lengths) > 1 for lengths in sent)
