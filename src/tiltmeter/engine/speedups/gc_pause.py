"""The garbage collector, told when there is nothing for it to find."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for cycles inside the block.

    Questions, rows and trials are made by the hundred thousand, and none is part of a cycle; the collector would go
    through all of them again each time their number has grown by a quarter.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
