"""Weights that would fill the memory."""

import zipfile
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError
from tiltmeter.models.pickled_weights import reject_oversized_pickles


@pytest.mark.parametrize(
    ("method", "size", "content"),
    [(zipfile.ZIP_DEFLATED, 1000, "compressed weights"), (zipfile.ZIP_STORED, 40_000_000, "pickle")],
)
def test_weights_that_would_fill_the_memory_are_rejected(method: int, size: int, content: str, tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("archive/data.pkl", bytes(size))
    with raises_mentioning(ModelError, str(path), content):
        reject_oversized_pickles(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", bytes(1000))
    reject_oversized_pickles(path)
