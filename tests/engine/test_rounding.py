"""In half precision, speed-ups of rows are checked against how much plain batches differ."""

import pytest
import torch
from torch import Tensor

from tests.models.tiny import CAUSAL, made
from tiltmeter.engine.batch_rows import Batch
from tiltmeter.engine.causal import CausalAnswerer

pytestmark = pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")


class Rounding(CausalAnswerer):
    """Its numbers move by `size` in larger batches, as those of a deep model in half precision do."""

    size = 0.0

    def compute_numbers(self, batch: Batch) -> Tensor:
        tokens = sum(len(row.ids) for row in batch)
        return super().compute_numbers(batch) + self.size * (tokens > 20)


@pytest.mark.parametrize(
    ("size", "dtype", "packs"),
    [(0.15, torch.bfloat16, True), (0.6, torch.bfloat16, False), (0.15, torch.float32, False)],
)
def test_rows_are_packed_where_plain_batches_differ_as_much(
    size: float, dtype: torch.dtype, packs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rounding, "size", size)
    model = made(CAUSAL["gpt2"]).to(dtype).eval()
    answerer = Rounding(model, torch.device("cpu"), without=("activations", "norms", "wanted_positions", "last_layer"))
    assert ("packing" in answerer.speedups) is packs
