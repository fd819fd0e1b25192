"""Detection of weight files that were not copied completely: the length is right, but a part of the file is zeros.

Some programs reserve the space of a file before they write its content. If such a program is stopped, it leaves such a
file. The file can be loaded, but the model gives wrong answers.
"""

import json
import struct
from itertools import groupby
from math import prod
from pathlib import Path

import numpy as np

from tiltmeter.errors import ModelError

# Number of samples that are read from a file, number of bytes in a sample, and smallest gap that is always found, as a
# share of the file.
_SAMPLES = 4096
_BYTES = 64
_SHARE = 0.01


def reject_zero_gaps(file: Path) -> None:
    """Raise a ModelError if a long sequence of zeros in a safetensors file begins or ends inside a matrix row.

    Rows that are completely zero, such as the embeddings of unused tokens, are allowed.
    """
    content = np.memmap(file, dtype=np.uint8, mode="r")
    step = max(len(content) // _SAMPLES, _BYTES)
    zero_samples = [not content[at : at + _BYTES].any() for at in range(0, len(content), step)]
    shortest_gap = max(2, int(_SHARE * len(zero_samples)))
    first = 0
    for is_zero, run in groupby(zero_samples):
        length = sum(1 for _ in run)
        if is_zero and length >= shortest_gap:
            start, end = _find_gap_ends(content, first * step, (first + length - 1) * step, step)
            for edge in (start, end):
                if name := _find_split_matrix(content, edge):
                    raise ModelError(
                        f"{file} is incomplete: a gap of {end - start:,} zero bytes begins or ends inside a row of "
                        f"{name}; download or copy it again."
                    )
        first += length


def _find_gap_ends(content: np.ndarray, first: int, last: int, step: int) -> tuple[int, int]:
    """Return the index of the first byte of a gap of zeros, and the index after the last byte of the gap.

    `first` and `last` are the indices of the first and last sample inside the gap. The ends of the gap are at most one
    `step` away from these samples.
    """
    before = np.flatnonzero(content[max(first - step, 0) : first])
    after = np.flatnonzero(content[last : last + step + _BYTES])
    start = max(first - step, 0) + (int(before[-1]) + 1 if len(before) else 0)
    return start, last + (int(after[0]) if len(after) else step)


def _find_split_matrix(content: np.ndarray, edge: int) -> str:
    """Return the name of the matrix that has the byte with the index `edge` inside a row.

    Returns "" if no matrix contains the byte, or if the byte is in the first or last number of a row.
    """
    (size,) = struct.unpack("<Q", content[:8].tobytes())
    header = json.loads(content[8 : 8 + size].tobytes())
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in tensor["data_offsets"])
        if not begin <= edge < end or len(tensor["shape"]) < 2:
            continue
        row = (end - begin) // prod(tensor["shape"][:-1])
        number = max(row // tensor["shape"][-1], 1)
        into = (edge - begin) % row
        return str(name) if number < into < row - number else ""
    return ""
