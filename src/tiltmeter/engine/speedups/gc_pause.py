"""Pause the cyclic garbage collector during a run.

Saves: a run creates hundreds of thousands of objects, such as questions and rows, without reference cycles. The
collector would traverse all these objects each time their number has grown by a quarter.
Relies on: nothing in torch or transformers. Reference cycles are freed after the run instead of during the run.
Check: none, because no number depends on the collector. The collector is enabled again after the run, even after an
error.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from tiltmeter.engine.speedups.speedup import SpeedUp


@contextmanager
def pause_gc() -> Iterator[None]:
    """Disable the automatic garbage collection within the context."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


SPEEDUP = SpeedUp(name="gc_pause", during=pause_gc)
