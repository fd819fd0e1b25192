"""The columns of a pickled pandas frame, read without running anything that the pickle names.

A pickle is a program, and unpickling runs it. This reader knows the few names with which a plain frame is spelt, and
none of them leads to what it names: each stands for a dummy that only keeps what it is given. A pickle with any other
name in it is refused. No pandas is needed, so it does not matter which version of pandas wrote the frame.
"""

import io
import pickle
from collections.abc import Callable
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.readers.file_text import read_bytes


class _Kept:
    """Keeps what it is made with and what state it is given."""

    def __init__(self, *given: object) -> None:
        self.given = given
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


class _Array(_Kept):
    """Stands for a numpy array. State: version, shape, dtype, order, and the list of its elements row by row."""


class _Block(_Kept):
    """Stands for a block of columns. Given: its values (a row per column), its place among the columns, 2."""


class _Index(_Kept):
    """Stands for row or column labels. Given: the class of index, and its parts by name."""


class _Manager(_Kept):
    """Stands for all blocks of a frame. Given: the blocks, and the labels of columns and rows."""


class _Frame(_Kept):
    """Stands for the frame. State: its manager, and what does not matter here."""


_NAMES: dict[tuple[str, str], Callable[..., object]] = {
    ("builtins", "slice"): slice,
    ("numpy", "dtype"): _Kept,
    ("numpy", "ndarray"): _Kept,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.numeric", "_frombuffer"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.numeric", "_frombuffer"): _Array,
    ("pandas", "DataFrame"): _Frame,
    ("pandas", "Index"): _Kept,
    ("pandas", "RangeIndex"): _Kept,
    ("pandas._libs.internals", "_unpickle_block"): _Block,
    ("pandas.core.frame", "DataFrame"): _Frame,
    ("pandas.core.indexes.base", "Index"): _Kept,
    ("pandas.core.indexes.base", "_new_Index"): _Index,
    ("pandas.core.indexes.numeric", "Int64Index"): _Kept,
    ("pandas.core.indexes.range", "RangeIndex"): _Kept,
    ("pandas.core.internals.managers", "BlockManager"): _Manager,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., object]:
        known = _NAMES.get((module, name))
        if known is None:
            raise BrokenFileError(
                "bad-pickle",
                f"is refused, since it names {module}.{name}, which a frame of plain objects does not need "
                "(nothing of it was run)",
            )
        return known


def read_columns(path: Path) -> dict[str, list[object]]:
    """The columns of the pickled frame at `path`, by name."""
    content = read_bytes(path)
    try:
        frame = _Unpickler(io.BytesIO(content)).load()
    except BrokenFileError:
        raise
    except Exception as error:  # What a malformed pickle raises is not limited to UnpicklingError.
        raise BrokenFileError("bad-pickle", f"is not a whole pickle: {error}") from error
    try:
        return _columns(frame)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise BrokenFileError("bad-pickle", "does not hold a frame of plain objects") from error


def _columns(frame: _Frame) -> dict[str, list[object]]:
    blocks, (labels, _rows) = frame.state["_mgr"].given  # type: ignore[index]
    names = _elements(labels.given[1]["data"])
    columns: dict[str, list[object]] = {}
    for block in blocks:
        values, place, _dimensions = block.given
        elements, (width, height) = _elements(values), values.state[1]
        numbers = range(len(names))[place]
        if len(numbers) != width or len(elements) != width * height:
            raise ValueError("the block does not fill its place")
        for start, number in enumerate(numbers):
            columns[str(names[number])] = elements[start * height : (start + 1) * height]
    return columns


def _elements(array: _Array) -> list[object]:
    elements = array.state[4]  # type: ignore[index]
    if not isinstance(elements, list):
        raise TypeError("not an array of objects")
    return elements
