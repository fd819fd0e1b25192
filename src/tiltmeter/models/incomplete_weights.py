"""Files with weights that were not copied or downloaded whole: of the right length, with zeros in place of a part.

A program that reserves the space of a file before it fills it leaves such files when it is stopped. They load, and
the model answers.
"""

import json
import struct
from itertools import groupby
from math import prod
from pathlib import Path

import numpy as np

from tiltmeter.errors import ModelError

# Places of a file that are looked at, and bytes at each: enough to meet every stretch of a hundredth of the file.
_PLACES = 4096
_BYTES = 64
_SHARE = 0.01


def reject_zero_gaps(file: Path) -> None:
    """Raise an error if a stretch of zeros in a safetensors file begins or ends inside a row of a matrix.

    Rows that are zero as a whole, such as those of tokens nobody uses, are no holes.
    """
    content = np.memmap(file, dtype=np.uint8, mode="r")
    step = max(len(content) // _PLACES, _BYTES)
    empty = [not content[at : at + _BYTES].any() for at in range(0, len(content), step)]
    enough = max(2, int(_SHARE * len(empty)))
    place = 0
    for is_empty, run in groupby(empty):
        length = sum(1 for _ in run)
        if is_empty and length >= enough:
            start, end = _find_gap_ends(content, place * step, (place + length - 1) * step, step)
            for edge in (start, end):
                if name := _find_split_matrix(content, edge):
                    raise ModelError(
                        f"{file} has {end - start:,} bytes of zeros in one stretch, cutting a row of {name}: "
                        "it was not copied or downloaded whole; fetch it again."
                    )
        place += length


def _find_gap_ends(content: np.ndarray, first: int, last: int, step: int) -> tuple[int, int]:
    """The first byte of a stretch of zeros, and the one after its last; its ends are within a step of these places."""
    before = np.flatnonzero(content[max(first - step, 0) : first])
    after = np.flatnonzero(content[last : last + step + _BYTES])
    start = max(first - step, 0) + (int(before[-1]) + 1 if len(before) else 0)
    return start, last + (int(after[0]) if len(after) else step)


def _find_split_matrix(content: np.ndarray, edge: int) -> str:
    """The matrix that has this byte inside one of its rows; not within a number, whose own bytes may be zero."""
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
