"""Fake models for worker processes, which import this file: it needs neither transformers nor pytest."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tests.support.patience import PATIENCE
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_rows import Batch, NumberRequests
from tiltmeter.errors import UsageError


class Worker:
    """A model in a worker process that answers, dies or raises an error."""

    batch_tokens = 8
    batches_ahead = 0
    layout = BatchLayout()
    disabled: ClassVar[dict[str, str]] = {}

    def __init__(self, ending: str) -> None:
        self._ending = ending

    def start_batch(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        if self._ending == "dies":
            os._exit(9)
        if self._ending == "fails":
            raise KeyError("nobody expected this")
        if self._ending == "prints":
            print("\x1b[8mhidden", file=sys.stderr)
        if self._ending == "complains":
            raise UsageError("This worker has had enough.")
        tokens = NumberRequests.from_batch(batch).tokens
        numbers = np.float32([-tokens, 0 * tokens])
        return lambda: numbers


class Telling(Worker):
    """Answers with the sizes of its batch and row, which reveal the plan."""

    def __init__(self, batch_tokens: int, shares_prefixes: bool, pack: int) -> None:
        super().__init__("answers")
        self.batch_tokens, self.layout = batch_tokens, BatchLayout(pack=pack, shares_prefixes=shares_prefixes)

    def start_batch(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        lengths = np.array([len(row.ids) for row in batch])[NumberRequests.from_batch(batch).lines]
        sizes = 1000 * self.batch_tokens + 100 * self.layout.pack + lengths
        numbers = np.float32([sizes, np.full(len(lengths), len(batch))])
        return lambda: numbers


class Waiting(Worker):
    """Answers one batch; when asked for a second one, prints which signals do not reach it, and waits."""

    def __init__(self) -> None:
        super().__init__("answers")
        self._batches = 0

    def start_batch(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        self._batches += 1
        if self._batches == 2:
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
            names = sorted(signal.Signals(number).name for number in blocked)
            sys.stdout.write(" ".join(names) + "\n")  # at once: the other worker writes, too
            sys.stdout.flush()
            threading.Event().wait(PATIENCE)  # it is ended before
        return super().start_batch(batch)
