"""The inputs of encoders: position ids, masks and token types of single and of packed rows."""

import torch
from torch import nn

from tests.engine.asked import CPU
from tests.models.tiny import MASKED, made
from tiltmeter.engine.batch_rows import Row
from tiltmeter.engine.encoder_inputs import build_encoder_inputs
from tiltmeter.engine.input_limits import find_first_position
from tiltmeter.engine.masked import MaskedAnswerer
from tiltmeter.engine.speedups import ALL


def test_rows_of_one_input_have_a_mask_of_their_tokens() -> None:
    answerer = MaskedAnswerer(made(MASKED["bert"]), CPU, ALL)
    inputs = build_encoder_inputs(answerer, [Row((5, 6, 7)), Row((8,))], 4)
    assert inputs.keys() == {"input_ids", "attention_mask"}
    assert inputs["input_ids"].tolist() == [[5, 6, 7], [8, 0, 0]]
    assert inputs["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_packed_rows_number_and_separate_their_inputs() -> None:
    answerer = MaskedAnswerer(made(MASKED["bert"]), CPU, ALL)
    batch = [Row((5, 6, 7), lengths=(2, 1)), Row((8, 9), segments=(1, 1))]
    inputs = build_encoder_inputs(answerer, batch, 4)
    assert inputs["position_ids"][0].tolist() == [4, 5, 4]
    assert inputs["position_ids"][1, :2].tolist() == [4, 5]
    seen = (inputs["attention_mask"] == 0)[:, 0].int()
    assert seen.tolist() == [[[1, 1, 0], [1, 1, 0], [0, 0, 1]], [[1, 1, 0], [1, 1, 0], [0, 0, 1]]]
    assert inputs["token_type_ids"].tolist() == [[0, 0, 0], [1, 1, 0]]


def test_the_first_position_id() -> None:
    found = {name: find_first_position(made(MASKED[name])) for name in ("bert", "roberta", "xlm-roberta", "distilbert")}
    assert found == {"bert": 0, "roberta": 2, "xlm-roberta": 1, "distilbert": 0}
    model = nn.Module()
    model.word_embeddings = nn.Embedding(4, 2, padding_idx=1)
    model.position_embeddings = nn.Linear(2, 2)
    model.more = nn.Module()
    model.more.position_embeddings = nn.Embedding(4, 2)
    assert find_first_position(model) == 0
    model.more.position_embeddings = nn.Embedding(4, 2, padding_idx=0)
    assert find_first_position(model) == 1
    with torch.inference_mode():  # the model agrees
        roberta = made(MASKED["roberta"])
        ids = torch.tensor([[5, 6]])
        assert torch.equal(roberta(ids).logits, roberta(ids, position_ids=torch.tensor([[2, 3]])).logits)
