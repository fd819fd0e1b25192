"""Read the columns of a pickled pandas DataFrame without executing code from the pickle.

Unpickling can call arbitrary functions. This reader has an allowlist of the names in the pickle of a plain DataFrame
and maps each of them to a placeholder class that only records its arguments and state; any other name is refused. It
does not need pandas, so the version that wrote the frame does not matter.
"""

import io
import pickle
import pickletools
from collections.abc import Callable
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.upstream_files import is_pinned
from tiltmeter.text_files import read_bytes

# The largest file, in bytes, and the most operations in it; the published frames have 3 MB and 60,000 of them.
_LARGEST, _MOST_OPERATIONS = 1 << 26, 3_000_000
# Operations whose argument is the number of a place in the memo, for which memory is taken up to that number.
_PLACES = ("PUT", "BINPUT", "LONG_BINPUT")
_NOT_IN_FRAMES = ("NEXT_BUFFER", "READONLY_BUFFER", "PERSID", "BINPERSID")


class _Placeholder:
    """A placeholder that records its constructor arguments and its state."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


class _Array(_Placeholder):
    """A numpy array. State: version, shape, dtype, order, list of elements in row-major order."""


class _Block(_Placeholder):
    """A block of columns. Arguments: values (a row per column), slice of the columns, number of dimensions."""


class _Index(_Placeholder):
    """Row or column labels. Arguments: the index class, and a dictionary of its parts."""


class _BlockManager(_Placeholder):
    """The block manager of a frame. Arguments: the blocks, and the labels of columns and rows."""


class _DataFrame(_Placeholder):
    """A DataFrame. State: its block manager under `_mgr`, and metadata that is ignored."""


_NAMES: dict[tuple[str, str], Callable[..., object]] = {
    ("builtins", "slice"): slice,
    ("numpy", "dtype"): _Placeholder,
    ("numpy", "ndarray"): _Placeholder,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.numeric", "_frombuffer"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.numeric", "_frombuffer"): _Array,
    ("pandas", "DataFrame"): _DataFrame,
    ("pandas", "Index"): _Placeholder,
    ("pandas", "RangeIndex"): _Placeholder,
    ("pandas._libs.internals", "_unpickle_block"): _Block,
    ("pandas.core.frame", "DataFrame"): _DataFrame,
    ("pandas.core.indexes.base", "Index"): _Placeholder,
    ("pandas.core.indexes.base", "_new_Index"): _Index,
    ("pandas.core.indexes.numeric", "Int64Index"): _Placeholder,
    ("pandas.core.indexes.range", "RangeIndex"): _Placeholder,
    ("pandas.core.internals.managers", "BlockManager"): _BlockManager,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., object]:
        placeholder = _NAMES.get((module, name))
        if placeholder is None:
            raise BrokenFileError(
                "bad-pickle",
                f"is refused, since it names {module}.{name}, which a frame of plain objects does not need "
                "(nothing of it was run)",
            )
        return placeholder


def read_columns(path: Path) -> dict[str, list[object]]:
    """The columns of the pickled frame at `path`, by name."""
    content = read_bytes(path, _LARGEST)
    if not is_pinned(path):  # looking at every operation takes longer than loading
        _reject_excessive_memory(content)
    try:
        frame = _Unpickler(io.BytesIO(content)).load()
    except BrokenFileError:
        raise
    except Exception as error:  # a malformed pickle may raise anything
        raise BrokenFileError("bad-pickle", f"is not a whole pickle: {error}") from error
    try:
        return _extract_columns(frame)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise BrokenFileError("bad-pickle", "does not hold a frame of plain objects") from error


def _reject_excessive_memory(content: bytes) -> None:
    """A BrokenFileError for a pickle that asks for more memory than a frame of its size needs.

    Every operation is looked at, and nothing is built: lengths and numbers of places that go beyond the file, and more
    operations than the largest published frame has many times over.
    """
    operations = 0
    try:
        for opcode, argument, _ in pickletools.genops(content):
            operations += 1
            greedy = opcode.name in _PLACES and isinstance(argument, int) and argument > len(content)
            if greedy or operations > _MOST_OPERATIONS or opcode.name in _NOT_IN_FRAMES:
                raise BrokenFileError("bad-pickle", "is refused, since loading it would fill the memory")
    except BrokenFileError:
        raise
    except Exception as error:  # a malformed pickle may raise anything
        raise BrokenFileError("bad-pickle", f"is not a whole pickle: {error}") from error


def _extract_columns(frame: _DataFrame) -> dict[str, list[object]]:
    blocks, (labels, _rows) = frame.state["_mgr"].arguments  # type: ignore[index]
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


def _list_elements(array: _Array) -> list[object]:
    elements = array.state[4]  # type: ignore[index]
    if not isinstance(elements, list):
        raise TypeError("not an array of objects")
    return elements
