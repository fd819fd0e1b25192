"""Pause the cyclic garbage collector during a run.

Saves: questions, rows and trials are made by the hundred thousand and none is part of a cycle; the collector would go
through all of them each time their number has grown by a quarter.
Relies on: nothing of torch or transformers. Memory of cyclic objects is freed after the run instead of during it.
Trial: none, for no number depends on it. The collector is on again after the run if it was on before, also after an
error.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from tiltmeter.engine.speedups.speedup import SpeedUp


@contextmanager
def paused() -> Iterator[None]:
    """No automatic collection within the context."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


SPEEDUP = SpeedUp(name="gc_pause", during=paused)
