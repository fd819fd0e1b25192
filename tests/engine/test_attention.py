"""Mean attention to each position, compared with the attention weights of each input alone."""

from typing import Any

import pytest
import torch

from tests.models.tiny import MASKED, made
from tests.support.messages import raises_mentioning
from tiltmeter.engine.attention import compute_mean_attention
from tiltmeter.errors import ModelError

INPUTS = [(5, 17, 30, 8, 41), (9, 9), (3, 44, 20)]


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert"])
def test_padding_neither_attends_nor_is_attended_to(name: str) -> None:
    model = made(MASKED[name])
    usual = model.config._attn_implementation
    ids = torch.tensor([[*own, *[7] * (5 - len(own))] for own in INPUTS])
    mask = torch.tensor([[1] * len(own) + [0] * (5 - len(own)) for own in INPUTS])
    found = compute_mean_attention(model, {"input_ids": ids, "attention_mask": mask})
    assert model.config._attn_implementation == usual
    for line, own in enumerate(INPUTS):
        alone = compute_mean_attention(model, {"input_ids": torch.tensor([own]), "attention_mask": None})
        model.set_attn_implementation("eager")
        with torch.no_grad():
            layers = model(torch.tensor([own]), output_attentions=True).attentions
        model.set_attn_implementation(usual)
        heads = [layer[0, head] for layer in layers for head in range(layer.shape[1])]
        expected = [
            float(sum(weights[attending, place] for weights in heads for attending in range(len(own))))
            / (len(heads) * len(own))
            for place in range(len(own))
        ]
        assert alone[0].tolist() == pytest.approx(expected, abs=1e-6)
        assert found[line].tolist() == pytest.approx(expected + [0.0] * (5 - len(own)), abs=1e-6)


@pytest.mark.parametrize("attentions", [(), (None, None), (torch.ones(1, 1, 2, 2), None)], ids=["none", "both", "one"])
def test_a_model_without_attention_weights_is_an_error(attentions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(MASKED["bert"])
    true_forward = model.base_model.forward

    def forward(**inputs: Any) -> Any:
        output = true_forward(**inputs)
        output.attentions = attentions
        return output

    monkeypatch.setattr(model.base_model, "forward", forward)
    with raises_mentioning(ModelError, "aula", "--protocol aul."):
        compute_mean_attention(model, {"input_ids": torch.tensor([[5, 6]])})
