"""Read the columns of a pickled pandas DataFrame without executing code from the pickle.

Unpickling can call arbitrary functions. This reader replaces the classes and functions of a plain DataFrame by a class
that only records arguments and state, and rejects all other names. It does not depend on the version of pandas.
"""

import io
import pickle
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.upstream_files import is_pinned
from tiltmeter.text_files import read_bytes

# The maximum size of a pickle in bytes, and its maximum number of operations. The published files have up to 3 MB and
# 60,000 operations.
_LARGEST, _MOST_OPERATIONS = 1 << 26, 3_000_000
# Pickle operations that store an object at an index of the memo (a list of objects). They allocate memory up to the
# index.
_PLACES = ("PUT", "BINPUT", "LONG_BINPUT")
_NOT_IN_FRAMES = ("NEXT_BUFFER", "READONLY_BUFFER", "PERSID", "BINPERSID")


class _Placeholder:
    """A class that records its constructor arguments and its state."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


_NAMES: dict[tuple[str, str], Callable[..., object]] = {
    ("builtins", "slice"): slice,
    ("numpy", "dtype"): _Placeholder,
    ("numpy", "ndarray"): _Placeholder,
    ("numpy.core.multiarray", "_reconstruct"): _Placeholder,
    ("numpy.core.numeric", "_frombuffer"): _Placeholder,
    ("numpy._core.multiarray", "_reconstruct"): _Placeholder,
    ("numpy._core.numeric", "_frombuffer"): _Placeholder,
    ("pandas", "DataFrame"): _Placeholder,
    ("pandas", "Index"): _Placeholder,
    ("pandas", "RangeIndex"): _Placeholder,
    ("pandas._libs.internals", "_unpickle_block"): _Placeholder,
    ("pandas.core.frame", "DataFrame"): _Placeholder,
    ("pandas.core.indexes.base", "Index"): _Placeholder,
    ("pandas.core.indexes.base", "_new_Index"): _Placeholder,
    ("pandas.core.indexes.numeric", "Int64Index"): _Placeholder,
    ("pandas.core.indexes.range", "RangeIndex"): _Placeholder,
    ("pandas.core.internals.managers", "BlockManager"): _Placeholder,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., object]:
        placeholder = _NAMES.get((module, name))
        if placeholder is None:
            raise BrokenFileError(
                "bad-pickle",
                f"is rejected, because it contains {module}.{name}, which a table of texts does not need "
                "(no code was executed)",
            )
        return placeholder


def read_columns(path: Path) -> dict[str, list[object]]:
    """Return the columns of a pickled DataFrame, as a mapping from column name to values."""
    content = read_bytes(path, _LARGEST)
    if not is_pinned(path):  # files with a pinned hash are safe, and this check takes longer than loading
        _reject_excessive_memory(content)
    try:
        frame = _Unpickler(io.BytesIO(content)).load()
    except BrokenFileError:
        raise
    except Exception as error:  # a malformed pickle may raise anything
        raise BrokenFileError("bad-pickle", f"is not a complete pickle: {error}") from error
    try:
        return _extract_columns(frame)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise BrokenFileError("bad-pickle", "does not contain a table of texts") from error


def _reject_excessive_memory(content: bytes) -> None:
    """Raise an error if loading a pickle would allocate much more memory than its size justifies; do not load it."""
    operations = 0
    try:
        for opcode, argument, _ in pickletools.genops(content):
            operations += 1
            greedy = opcode.name in _PLACES and isinstance(argument, int) and argument > len(content)
            if greedy or operations > _MOST_OPERATIONS or opcode.name in _NOT_IN_FRAMES:
                raise BrokenFileError("bad-pickle", "is rejected, because loading it needs too much memory")
    except BrokenFileError:
        raise
    except Exception as error:  # a malformed pickle may raise anything
        raise BrokenFileError("bad-pickle", f"is not a complete pickle: {error}") from error


def _extract_columns(frame: Any) -> dict[str, list[object]]:
    # pandas stores a table as blocks of columns. The block manager contains the blocks and the labels of columns and
    # rows. A block contains an array of values (one array row per column), the slice of its columns and the number of
    # dimensions. The state of an array is (version, shape, dtype, order, elements).
    blocks, (labels, _rows) = frame.state["_mgr"].arguments
    names = _list_elements(labels.arguments[1]["data"])
    columns: dict[str, list[object]] = {}
    for block in blocks:
        values, columns_slice, _dimensions = block.arguments
        elements, (width, height) = _list_elements(values), values.state[1]
        indices = range(len(names))[columns_slice]
        if len(indices) != width or len(elements) != width * height:
            raise ValueError("the block does not match its slice of the columns")
        for row, index in enumerate(indices):
            columns[str(names[index])] = elements[row * height : (row + 1) * height]
    return columns


def _list_elements(array: Any) -> list[object]:
    elements = array.state[4]
    if not isinstance(elements, list):
        raise TypeError("not an array of objects")
    return elements
