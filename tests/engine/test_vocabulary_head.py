"""Both ways to normalise over the vocabulary equal a softmax in double precision."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.models.tiny import MASKED, VOCABULARY, made
from tiltmeter.engine import vocabulary_head
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.vocabulary_head import VocabularyHead

WHICH = torch.tensor([0, 3, 3, 6, 1, 5])
TOKENS = torch.tensor([1, VOCABULARY - 1, 0, 20, 7, 33])


@pytest.mark.parametrize("way", ["_compute_log_probs_sliced", "_compute_log_probs_whole"])
@pytest.mark.parametrize("scale", [0.1, 3.0, 40.0])  # from nearly uniform to nearly certain
def test_log_probabilities_and_tops(way: str, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary_head, "_LOGITS_AT_ONCE_ELSEWHERE", 2 * VOCABULARY)  # two states at a time
    answerer = MaskedAnswerer(made(MASKED["bert"]), torch.device("cpu"))
    states = scale * torch.randn((7, 16), generator=torch.Generator().manual_seed(1))
    projection = answerer.model.get_output_embeddings()  # type: ignore[operator]
    with torch.inference_mode():
        logits = states.double() @ projection.weight.double().T + projection.bias.double()
        tokens = torch.cat([TOKENS, logits.argmax(dim=-1)])
        which = torch.cat([WHICH, torch.arange(7)])
        values, tops = getattr(answerer.head, way)(states, which, tokens)
    expected = torch.log_softmax(logits, dim=-1)[which, tokens]
    torch.testing.assert_close(values.double(), expected, rtol=1e-5, atol=1e-5)
    assert tops.tolist() == (tokens == logits.argmax(dim=-1)[which]).float().tolist()


def test_the_careful_way_keeps_small_remainders() -> None:
    terms = torch.tensor([[1.0, 3e-9, 2e-9], [0.5, 0.25, 0.25], [0.0, 0.0, 0.0]])
    rest = vocabulary_head._sum_without_largest(terms, terms.amax(dim=-1))
    torch.testing.assert_close(rest, torch.tensor([5e-9, 0.5, 0.0]), rtol=1e-6, atol=0)


def test_on_a_cpu_argmax_is_computed_only_if_little_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    true_sum, looked_for = vocabulary_head._sum_others, []

    def noted(terms: Tensor) -> Tensor:
        looked_for.append(terms.tolist())
        return true_sum(terms)

    monkeypatch.setattr(vocabulary_head, "_sum_others", noted)
    terms = torch.tensor(
        [[1.0, 0.0, 0.009], [0.5, 0.125, 0.25], [1.0, 0.0, 0.011], [0.25, 0.25, 0.0], [0.5, 0.0, 0.006]]
    )
    rest = vocabulary_head._sum_without_largest(terms.clone(), terms.amax(dim=-1))
    assert looked_for == [terms[:1].tolist()]
    torch.testing.assert_close(rest, torch.tensor([0.009, 0.375, 0.011, 0.25, 0.006]))
    # On other devices argmax is as fast as a subtraction.
    monkeypatch.setattr(vocabulary_head, "_sum_others", lambda _terms: "looked for")
    assert vocabulary_head._sum_without_largest(terms.to("meta"), terms.amax(dim=-1).to("meta")) == "looked for"


@pytest.mark.parametrize("device", ["cpu", "cuda", "mps"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_quick_way_is_for_half_precision_on_a_gpu(
    device: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VocabularyHead, "_compute_log_probs_whole", lambda *_: "quick")
    monkeypatch.setattr(VocabularyHead, "_compute_log_probs_sliced", lambda *_: "careful")
    states: Any = SimpleNamespace(device=torch.device(device), dtype=dtype)
    found: Any = VocabularyHead(nn.Identity()).compute_log_probs(states, WHICH, TOKENS)
    assert found == ("quick" if (device, dtype) == ("cuda", torch.bfloat16) else "careful")


class Sliced(VocabularyHead):
    """Records how many logits are requested at once."""

    def __init__(self) -> None:
        super().__init__(nn.Identity())
        self.sizes: list[tuple[int, ...]] = []

    def compute_logit_slice(self, states: Tensor, start: int, end: int) -> Tensor:
        part = super().compute_logit_slice(states, start, end)
        self.sizes.append(tuple(part.shape))
        return part

    def compute_all_logits(self, states: Tensor) -> Tensor:
        self.sizes.append(tuple(states.shape))
        return super().compute_all_logits(states)


@pytest.mark.parametrize(
    ("at_once", "careful", "quick"),
    [
        (1, [1024, 1024, 952], [1, 1, 1, 1]),
        (2 * 3000, [1500, 1500], [2, 2]),
        (4 * 3000, [3000], [4]),
        (9 * 3000, [3000], [4]),
    ],
)
def test_logits_in_memory_at_once_are_limited(
    at_once: int, careful: list[int], quick: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary_head, "_LOGITS_AT_ONCE", {"cpu": at_once})
    monkeypatch.setattr(vocabulary_head, "_LOGITS_AT_ONCE_ELSEWHERE", at_once)
    states = 8 * torch.randn((4, 3000), generator=torch.Generator().manual_seed(1))
    which, tokens = torch.tensor([0, 1, 2, 3, 3, 2, 1, 0]), torch.tensor([0, 1023, 1024, 2999, 1499, 1500, 7, 2047])
    which, tokens = torch.cat([which, torch.arange(4)]), torch.cat([tokens, states.argmax(dim=-1)])
    expected = torch.log_softmax(states.double(), dim=-1)[which, tokens]
    ways = {
        "_compute_log_probs_sliced": [(4, size) for size in careful],
        "_compute_log_probs_whole": [(size, 3000) for size in quick],
    }
    for way, sizes in ways.items():
        sliced = Sliced()
        values, tops = getattr(sliced, way)(states, which, tokens)
        assert sliced.sizes == sizes
        torch.testing.assert_close(values.double(), expected, rtol=1e-5, atol=1e-5)
        assert tops.tolist() == [0.0] * 8 + [1.0] * 4


def test_states_are_not_overwritten() -> None:
    states = torch.randn((4, 30), generator=torch.Generator().manual_seed(1))
    before = states.clone()
    for way in ("_compute_log_probs_sliced", "_compute_log_probs_whole"):
        getattr(VocabularyHead(nn.Identity()), way)(states, torch.tensor([0]), torch.tensor([3]))
        assert torch.equal(states, before)
