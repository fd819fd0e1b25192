"""The two ways to normalise over the vocabulary give what a softmax in double precision gives."""

import pytest
import torch

from tests.models.tiny import MASKED, VOCABULARY, made
from tiltmeter.engine import head
from tiltmeter.engine.masked import MaskedAnswerer

WHICH = torch.tensor([0, 3, 3, 6, 1, 5])
TOKENS = torch.tensor([1, VOCABULARY - 1, 0, 20, 7, 33])


@pytest.mark.parametrize("way", ["_careful_log_probs", "_quick_log_probs"])
@pytest.mark.parametrize("scale", [0.1, 3.0, 40.0])  # from nearly uniform to nearly certain
def test_log_probabilities_and_tops(way: str, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "_LOGITS_AT_ONCE_ELSEWHERE", 2 * VOCABULARY)  # two states at a time
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


def test_near_certainty_the_careful_way_keeps_how_near() -> None:
    terms = torch.tensor([[1.0, 3e-9, 2e-9], [0.5, 0.25, 0.25], [0.0, 0.0, 0.0]])
    rest = head._sum_without_largest(terms, terms.amax(dim=-1))
    torch.testing.assert_close(rest, torch.tensor([5e-9, 0.5, 0.0]), rtol=1e-6, atol=0)
