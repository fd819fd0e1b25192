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
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_plan import compute_padding_share, plan_batches
from tiltmeter.engine.batch_rows import Batch
from tiltmeter.engine.execution import BatchAnswerer, answer_batches
from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.progress.progress import Progress, ReportProgress, ignore_progress
from tiltmeter.questions import Answer, Kind, Question
from tiltmeter.safe_output import guard_output


@dataclass(frozen=True, slots=True)
class _SharedQuestions:
    """The questions that all workers share."""

    questions: Sequence[Question]
    kind: Kind
    fingerprint: str
    store: str
    journal: Journal
    names: Mapping[bytes, str] | None


@dataclass(frozen=True, slots=True)
class _WorkerReady:
    """Sent by a worker when its model is loaded."""

    batch_tokens: int
    layout: BatchLayout
    disabled: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _WorkerError:
    """Sent by a worker that met an error which nobody expected."""

    error: str
    details: str


@dataclass(frozen=True, slots=True)
class _WorkerShare:
    """The common plan's parameters, and which part of the batches is this worker's."""

    batch_tokens: int
    layout: BatchLayout
    rank: int
    workers: int

    def can_take(self, batch: Batch) -> bool:
        """Return whether a batch is this worker's: decided by a question's hash, so that all shares are similar."""
        return int.from_bytes(batch[0].questions[0]) % self.workers == self.rank


class DeviceWorkers:
    """A process for each function in `loads`, which loads a model; they stay until they are closed or one fails.

    All workers make the same plan and answer their own batches of it, so the answers are those of a single device.
    """

    def __init__(self, loads: Sequence[Callable[[], BatchAnswerer]]) -> None:
        self._loads = loads
        self._processes: dict[Connection, BaseProcess] = {}
        self._ready: list[_WorkerReady] = []

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
        """Return the answers to all questions; the processes are started when the first one is not stored."""
        asked = {question.digest: question for question in questions}
        answers = store.get(fingerprint, asked)
        report(Progress(len(answers), len(asked)))
        if len(answers) < len(asked):
            store.reject_read_only(len(asked) - len(answers))
            work = _SharedQuestions(list(asked.values()), kind, fingerprint, store.path, store.journal, names)
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
            process = context.Process(target=_run_worker, args=(load, theirs), daemon=True)
            with _block_stop_signals():
                process.start()
            theirs.close()
            self._processes[ours] = process
        self._ready = [_receive(connection, self._processes) for connection in self._processes]

    def _divide(self, work: _SharedQuestions, batch_tokens: int | None, answered: int, report: ReportProgress) -> None:
        """Have each worker answer its share of the questions."""
        size = batch_tokens or min(worker.batch_tokens for worker in self._ready)
        layout = BatchLayout.combine(worker.layout for worker in self._ready)
        batches = plan_batches(work.questions, work.kind, size, layout)
        padding = compute_padding_share(batches, size, layout)
        del batches
        for rank, connection in enumerate(self._processes):
            with suppress(BrokenPipeError, ConnectionResetError):  # a worker that died is noticed below
                connection.send((work, _WorkerShare(size, layout, rank, len(self._processes))))
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
    """Return the next message of a worker; raises its error, if it sent one."""
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
    if isinstance(message, _WorkerError):
        raise RuntimeError(f"{message.error} in a worker process:\n{message.details}")
    return message


@contextmanager
def _block_stop_signals() -> Iterator[None]:
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


def _run_worker(load: Callable[[], BatchAnswerer], connection: Connection) -> None:
    with guard_output():
        _serve(load, connection)


def _serve(load: Callable[[], BatchAnswerer], connection: Connection) -> None:
    """Answer what the parent sends, until it ends."""
    try:
        model = load()
        connection.send(_WorkerReady(model.batch_tokens, model.layout, model.disabled))
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
        _send(connection, _WorkerError(repr(error), traceback.format_exc()))


def _answer_share(model: BatchAnswerer, work: _SharedQuestions, share: _WorkerShare, connection: Connection) -> None:
    # An encoder-decoder divides a batch again by these values, which must be the same on all devices.
    model.batch_tokens, model.layout = share.batch_tokens, share.layout
    batches = plan_batches(work.questions, work.kind, share.batch_tokens, share.layout)
    mine = [batch for batch in batches if share.can_take(batch)]
    with AnswerStore(work.store, journal=work.journal) as store:
        answers = store.get(work.fingerprint, (question.digest for question in work.questions))
        for new in answer_batches(model, mine, answers, work.names):
            store.put(work.fingerprint, new)
            connection.send(len(new))


def _send(connection: Connection, message: object) -> None:
    with suppress(OSError):  # the parent may have ended
        connection.send(message)
