"""Answer on several devices: one process per device, one plan, one store, the same answers as on a single device."""

import multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from tiltmeter.database import Journal
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.batch_layout import Layout
from tiltmeter.engine.execute import BatchAnswerer, answer_batches
from tiltmeter.engine.plan import padding_share, plan
from tiltmeter.engine.rows import Batch
from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.guarded_output import guarded_output
from tiltmeter.progress.progress import Progress, ReportProgress, ignore_progress
from tiltmeter.questions import Answer, Kind, Question


@dataclass(frozen=True, slots=True)
class _Work:
    """The questions that all workers share."""

    questions: Sequence[Question]
    kind: Kind
    fingerprint: str
    store: str
    journal: Journal
    names: Mapping[bytes, str] | None


@dataclass(frozen=True, slots=True)
class _Ready:
    """Sent by a worker when its model is loaded."""

    batch_tokens: int
    layout: Layout
    disabled: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Fault:
    """Sent by a worker that met an error which nobody expected."""

    error: str
    details: str


@dataclass(frozen=True, slots=True)
class _Share:
    """The common plan's parameters, and which part of the batches is this worker's."""

    batch_tokens: int
    layout: Layout
    rank: int
    workers: int

    def takes(self, batch: Batch) -> bool:
        """Whether a batch is this worker's: decided by a question's hash, so that all shares are similar."""
        return int.from_bytes(batch[0].questions[0]) % self.workers == self.rank


class Workers:
    """A process for each function in `loads`, which loads a model; they stay until they are closed or one fails.

    All workers make the same plan and answer their own batches of it, so the answers are those of a single device.
    """

    def __init__(self, loads: Sequence[Callable[[], BatchAnswerer]]) -> None:
        self._loads = loads
        self._processes: dict[Connection, BaseProcess] = {}
        self._ready: list[_Ready] = []

    def answer(
        self,
        questions: Iterable[Question],
        *,
        kind: Kind,
        fingerprint: str,
        store: AnswerStore,
        batch_tokens: int | None = None,
        names: Mapping[bytes, str] | None = None,
        report: ReportProgress = ignore_progress,
    ) -> Mapping[bytes, Answer]:
        """The answers to all questions; the processes are started when the first one is not stored."""
        asked = {question.digest: question for question in questions}
        answers = store.get(fingerprint, asked)
        report(Progress(len(answers), len(asked)))
        if len(answers) < len(asked):
            store.refuse_read_only(len(asked) - len(answers))
            work = _Work(list(asked.values()), kind, fingerprint, store.path, store.journal, names)
            try:
                self._start()
                self._divide(work, batch_tokens, len(answers), report)
            except BaseException:
                self.close()
                raise
            answers = store.get(fingerprint, asked)
        return answers

    @property
    def disabled(self) -> dict[str, str]:
        """The speed-ups and batches that the models on some device do not use, with the reasons."""
        return {name: reason for worker in self._ready for name, reason in worker.disabled.items()}

    def close(self) -> None:
        """End the processes."""
        # All are killed first, since a second Ctrl-C may end the waiting; the store loses nothing by it.
        for process in self._processes.values():
            process.kill()
        for connection, process in self._processes.items():
            process.join()
            connection.close()
        self._processes, self._ready = {}, []

    def _start(self) -> None:
        if self._processes:
            return
        # CUDA cannot be used in a forked process if its parent has initialised it.
        context = multiprocessing.get_context("spawn")
        for load in self._loads:
            ours, theirs = context.Pipe()
            # A daemon does not keep a parent from ending that forgets to close it.
            process = context.Process(target=_worker, args=(load, theirs), daemon=True)
            with _without_stops():
                process.start()
            theirs.close()
            self._processes[ours] = process
        self._ready = [_receive(connection, self._processes) for connection in self._processes]

    def _divide(self, work: _Work, batch_tokens: int | None, answered: int, report: ReportProgress) -> None:
        """Have each worker answer its share of the questions."""
        size = batch_tokens or min(worker.batch_tokens for worker in self._ready)
        layout = Layout.common(worker.layout for worker in self._ready)
        batches = plan(work.questions, work.kind, size, layout)
        padding = padding_share(batches, size, layout)
        del batches
        for rank, connection in enumerate(self._processes):
            with suppress(BrokenPipeError, ConnectionResetError):  # a worker that died is noticed below
                connection.send((work, _Share(size, layout, rank, len(self._processes))))
        busy = list(self._processes)
        while busy:
            for connection in (c for c in wait(busy) if isinstance(c, Connection)):
                message = _receive(connection, self._processes)
                if message is None:
                    busy.remove(connection)
                else:
                    answered += message
                    report(Progress(answered, len(work.questions), padding))


def _receive(connection: Connection, workers: Mapping[Connection, BaseProcess]) -> Any:
    """The next message of a worker; raises its error, if it sent one."""
    try:
        message = connection.recv()
    except EOFError:
        workers[connection].join()
        code = workers[connection].exitcode
        raise ModelError(
            f"A worker process died (exit code {code}), perhaps for lack of memory; its answers so far are stored, and "
            "the same command goes on from there."
        ) from None
    if isinstance(message, TiltmeterError):
        raise message
    if isinstance(message, _Fault):
        raise RuntimeError(f"{message.error} in a worker process:\n{message.details}")
    return message


@contextmanager
def _without_stops() -> Iterator[None]:
    """Block Ctrl-C and SIGTERM within the context: a process started there never gets them, and is ended by its parent.

    A terminal, or a scheduler of jobs, sends them to all processes. One that comes meanwhile reaches this process at
    the end of the context.
    """
    if sys.platform == "win32":
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # started with the first process otherwise, and then it would unblock the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _worker(load: Callable[[], BatchAnswerer], connection: Connection) -> None:
    with guarded_output():
        _serve(load, connection)


def _serve(load: Callable[[], BatchAnswerer], connection: Connection) -> None:
    """Answer what the parent sends, until it ends."""
    try:
        model = load()
        connection.send(_Ready(model.batch_tokens, model.layout, model.disabled))
        while True:
            work, share = connection.recv()
            _answer_share(model, work, share, connection)
            del work
            connection.send(None)
    except TiltmeterError as error:
        _send(connection, error)
    except (BrokenPipeError, EOFError, ConnectionResetError):
        pass  # the parent has ended
    except Exception as error:
        _send(connection, _Fault(repr(error), traceback.format_exc()))


def _answer_share(model: BatchAnswerer, work: _Work, share: _Share, connection: Connection) -> None:
    # An encoder-decoder divides a batch again by these values, which must be the same on all devices.
    model.batch_tokens, model.layout = share.batch_tokens, share.layout
    batches = plan(work.questions, work.kind, share.batch_tokens, share.layout)
    mine = [batch for batch in batches if share.takes(batch)]
    with AnswerStore(work.store, journal=work.journal) as store:
        answers = store.get(work.fingerprint, (question.digest for question in work.questions))
        for new in answer_batches(model, mine, answers, work.names):
            store.put(work.fingerprint, new)
            connection.send(len(new))


def _send(connection: Connection, message: object) -> None:
    with suppress(OSError):  # the parent may have ended
        connection.send(message)
