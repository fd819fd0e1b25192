"""Weights that would fill the memory."""

import zipfile
from pathlib import Path

import pytest

from tiltmeter.errors import ModelError
from tiltmeter.models.pickled_weights import reject_oversized_pickles


@pytest.mark.parametrize(("method", "size"), [(zipfile.ZIP_DEFLATED, 1000), (zipfile.ZIP_STORED, 40_000_000)])
def test_weights_that_would_fill_the_memory_are_refused(method: int, size: int, tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("archive/data.pkl", bytes(size))
    with pytest.raises(ModelError, match="refused"):
        reject_oversized_pickles(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", bytes(1000))
    reject_oversized_pickles(path)
