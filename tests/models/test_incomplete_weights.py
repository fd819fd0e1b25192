"""Files with weights that have zeros in place of a part."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError
from tiltmeter.models.incomplete_weights import reject_zero_gaps


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Matrices and vectors of random numbers; the rows of unused tokens and one bias are zero."""
    torch.manual_seed(1)
    embeddings = torch.randn(400, 60)
    embeddings[300:] = 0
    tensors = {"embeddings": embeddings, "bias": torch.zeros(3000), "middle": torch.randn(200, 30, 5)}
    save_file(tensors, tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def test_rows_and_biases_of_zeros_are_no_holes(file: Path) -> None:
    reject_zero_gaps(file)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("start", [0.2, 0.51, 0.8])
def test_zeros_that_cut_a_row_are_refused(file: Path, start: float, share: float) -> None:
    content = bytearray(file.read_bytes())
    begin, length = int(len(content) * start) // 4 * 4 + 16, int(len(content) * share)
    length = min(length, len(content) - begin)
    content[begin : begin + length] = bytes(length)
    file.write_bytes(content)
    with raises_mentioning(ModelError, str(file), "zero bytes"):
        reject_zero_gaps(file)


def test_a_file_cut_short_in_its_zeros_ends_there(tmp_path: Path) -> None:
    save_file({"all": torch.zeros(64, 64)}, tmp_path / "zeros.safetensors")
    reject_zero_gaps(tmp_path / "zeros.safetensors")
