"""The equivalence check of speed-ups: what its synthetic inputs cover, and what it rejects."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.engine.asked import ANSWERERS, CPU, MODELS, kind_of
from tests.models.tiny import CAUSAL, MASKED, VOCABULARY, made
from tiltmeter.engine import equivalence
from tiltmeter.engine.causal import CausalAnswerer
from tiltmeter.engine.head import VocabularyHead
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.plan import plan
from tiltmeter.engine.rows import Batch
from tiltmeter.engine.speedups import ALL
from tiltmeter.engine.speedups.wanted_positions import ProjectingHead
from tiltmeter.questions import Want

# Torch warns on processors without instructions for bfloat16.
pytestmark = pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")


def plain(name: str, dtype: torch.dtype = torch.float32) -> Any:
    return ANSWERERS[kind_of(name)](made(MODELS[name]).to(dtype), CPU, ALL)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_all_inputs_of_the_check_fill_one_packed_row(name: str) -> None:
    answerer = plain(name)
    width = answerer.width_of_packs()
    long, short, few = equivalence._questions(answerer)
    ((row,),) = plan([*long, *short], answerer.kind, 2 * width, share_prefixes=False, pack=width)
    assert (len(row.ids), len(row.lengths)) == (width, 1 + len(short))
    # All positions are read; the questions of `few` read the last position, for another token.
    assert [[place for place, _ in q.wanted] for q in (*long, *short)] == [
        list(range(len(q.ids))) for q in long + short
    ]
    assert [(q.ids, q.source) for q in few] == [(q.ids, q.source) for q in short]
    assert all(question.wanted[0][0] == len(question.ids) - 1 for question in few)
    assert {token for q in few for _, token in q.wanted}.isdisjoint(token for q in short for _, token in q.wanted)
    assert max(token for q in (*long, *short) for token in q.ids + q.source) < VOCABULARY


def test_the_short_inputs_make_a_tree_with_two_branchings_and_a_single_input() -> None:
    _, short, _ = equivalence._questions(plain("gpt2"))
    trees = [row for batch in plan(short, "causal", 1000) for row in batch]
    depths = sorted(row.depths for row in trees)
    assert depths == [(), (0, 1, 2, 3, 3, 4, 2)]
    assert len({len(q.ids) for q in short}) == len(short)


def test_the_sources_fill_a_packed_row_of_the_encoder_and_each_short_one_has_two_targets() -> None:
    answerer = plain("t5")
    long, short, _ = equivalence._questions(answerer)
    sources = {q.source for q in (*long, *short)}
    assert sum(map(len, sources)) == answerer.width_of_packs()
    assert [sum(q.source == source for q in short) for source in {q.source for q in short}] == [2, 2]


class Shifted(VocabularyHead):
    """Adds constants to its numbers."""

    def __init__(self, model: Any, log_probs: float = 0.0, logits: float = 0.0) -> None:
        super().__init__(model)
        self._log_probs, self._logits = log_probs, logits

    def log_probs(self, states: Tensor, which: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        values, tops = super().log_probs(states, which, tokens)
        return values + self._log_probs, tops

    def logits(self, states: Tensor, which: Tensor, tokens: Tensor) -> Tensor:
        return super().logits(states, which, tokens) + self._logits


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
@pytest.mark.parametrize(
    ("dtype", "log_probs", "logits", "passes"),
    [
        (torch.float32, 0.0, 0.0, True),
        (torch.float32, 2e-4, -2e-4, True),
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
        check = equivalence.EquivalenceCheck(answerer)
        answerer.head = Shifted(answerer.model, log_probs, logits)
        assert check.passes() == passes
        assert check.passes(few=True) == passes


def test_an_accepted_change_is_the_reference_of_the_next() -> None:
    answerer = plain("bert")
    with torch.inference_mode():
        check = equivalence.EquivalenceCheck(answerer)
        answerer.head = Shifted(answerer.model, 8e-4)
        assert check.passes()
        answerer.head = Shifted(answerer.model, 16e-4)
        assert not check.passes()
        answerer.head = Shifted(answerer.model, 8e-4)
        assert check.passes()
        check.accept()
        answerer.head = Shifted(answerer.model, 16e-4)
        assert check.passes()


def test_an_error_is_a_failure() -> None:
    answerer = plain("bert")
    with torch.inference_mode():
        check = equivalence.EquivalenceCheck(answerer)
        answerer.head = None
        assert not check.passes()


def test_the_long_input_is_compared_if_rows_change() -> None:
    answerer = plain("gpt2")

    class WrongBeyond(VocabularyHead):
        def read(self, inputs: Any, rows: Tensor, only_at: Any) -> Tensor:
            wrong = inputs["input_ids"].shape[1] > 20
            return super().read(inputs, rows, only_at) * (2 if wrong else 1)

    with torch.inference_mode():
        check = equivalence.EquivalenceCheck(answerer)
        check.prepare_rows()
        assert check.passes(rows=True)
        answerer.head = WrongBeyond(answerer.model)
        assert check.passes()
        assert check.passes(few=True, rows=True)
        assert not check.passes(rows=True)
        check.prepare_rows()  # does not replace the reference
        assert not check.passes(rows=True)


@pytest.mark.parametrize("scale", [1, 60])
def test_logits_that_are_rounded_less_may_differ_by_the_rounding_of_the_largest(scale: float) -> None:
    model = made(CAUSAL["gpt2"])
    with torch.no_grad():
        model.transformer.ln_f.weight.mul_(scale)
    answerer = CausalAnswerer(model.to(torch.bfloat16), CPU, ALL)
    with torch.inference_mode():
        check = equivalence.EquivalenceCheck(answerer)
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
            assert check.passes(rounds_logits_less=True) == passes
            assert check.passes() == (share * allowed < 0.1)


def test_wrong_logits_are_found_even_if_log_probabilities_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ProjectingHead.logits
    monkeypatch.setattr(ProjectingHead, "logits", lambda *given: right(*given) + 1)
    assert "wanted_positions" not in MaskedAnswerer(made(MASKED["bert"]), CPU).speedups


def test_near() -> None:
    assert equivalence._near(np.float32([1, 2]), np.float32([1.25, 1.75]), 0.5)
    assert not equivalence._near(np.float32([1, 2]), np.float32([1.25, 2.5]), 0.5)
    assert not equivalence._near(np.float32([1, 2]), np.float32([1, np.nan]), 0.5)


def test_questions_about_logits_are_those_that_read_few_positions() -> None:
    answerer = plain("t5")
    _, _, few = equivalence._questions(answerer)
    found = equivalence._logit_questions(answerer, few)
    assert [(q.ids, q.wanted, q.source, q.want) for q in found] == [
        (q.ids, q.wanted, q.source, Want.LOGIT) for q in few
    ]


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_the_reference_has_no_padding_and_the_compared_batches_have(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answerer = plain(name)
    sent: list[list[int]] = []
    true_answer = answerer.answer

    def noted(batch: Batch) -> Any:
        sent.append([len(row.ids) for row in batch])
        return true_answer(batch)

    monkeypatch.setattr(answerer, "answer", noted)
    with torch.inference_mode():
        check = equivalence.EquivalenceCheck(answerer)
        check.prepare_rows()
        assert all(len(lengths) == 1 for lengths in sent)
        sent.clear()
        assert check.passes(rows=True)
    assert any(len(set(lengths)) > 1 for lengths in sent)


def test_rounding_is_measured_between_plain_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    answerer = plain("gpt2", torch.bfloat16)
    sent: list[Batch] = []
    true_answer = answerer.answer

    def noted(batch: Batch) -> Any:
        sent.append(batch)
        return true_answer(batch)

    monkeypatch.setattr(answerer, "answer", noted)
    with torch.inference_mode():
        check = equivalence.EquivalenceCheck(answerer)
        long, short, _ = equivalence._questions(answerer)
        sent.clear()
        check.prepare_rows()
        alone, together = sent
        assert [row.ids for row in alone] == [long[0].ids]
        assert sorted(row.ids for row in together) == sorted(question.ids for question in (*long, *short))
        assert not any(row.has_several for row in together)
        # A model whose plain batches hardly differ is not given the tolerance of one whose do.
        answerer.head = Shifted(answerer.model, 0.3)
        assert not check.passes(rows=True)
