"""Inference on several devices, with one process per device and the same answers as on a single device."""

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
    """Sent by a worker after an unexpected error."""

    error: str
    details: str


@dataclass(frozen=True, slots=True)
class _WorkerShare:
    """The parameters of the common plan, and the number of the worker."""

    batch_tokens: int
    layout: BatchLayout
    rank: int
    workers: int

    def can_take(self, batch: Batch) -> bool:
        """Return whether a batch belongs to this worker, by the hash of a question, so that all shares are similar."""
        return int.from_bytes(batch[0].questions[0]) % self.workers == self.rank


class DeviceWorkers:
    """One process for each function in `loads`, which loads a model; the processes run until `close` or an error.

    All workers make the same plan and answer their own batches, so the answers are those of a single device.
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
        """Return the answers to all questions by digest. Processes are started only if an answer is not stored."""
        by_digest = {question.digest: question for question in questions}
        answers = store.get(fingerprint, by_digest)
        report(Progress(len(answers), len(by_digest)))
        if len(answers) < len(by_digest):
            store.reject_read_only(len(by_digest) - len(answers))
            work = _SharedQuestions(list(by_digest.values()), kind, fingerprint, store.path, store.journal, names)
            try:
                self._start()
                self._divide(work, batch_tokens, len(answers), report)
            except BaseException:
                self.close()
                raise
            answers = store.get(fingerprint, by_digest)
        return answers

    @property
    def disabled(self) -> dict[str, str]:
        """The speed-ups and forms of batches that are not used on some device, with the reasons."""
        return {name: reason for worker in self._ready for name, reason in worker.disabled.items()}

    def close(self) -> None:
        """End the processes."""
        # Kill all before waiting, because a second Ctrl-C may interrupt the waiting; stored answers are not lost.
        for process in self._processes.values():
            process.kill()
        for connection, process in self._processes.items():
            process.join()
            connection.close()
        self._processes, self._ready = {}, []

    def _start(self) -> None:
        if self._processes:
            return
        # CUDA does not work in a forked process if the parent has initialised it.
        context = multiprocessing.get_context("spawn")
        for load in self._loads:
            ours, theirs = context.Pipe()
            # A daemon does not prevent its parent from ending.
            process = context.Process(target=_run_worker, args=(load, theirs), daemon=True)
            with _block_stop_signals():
                process.start()
            theirs.close()
            self._processes[ours] = process
        self._ready = [_receive(connection, self._processes) for connection in self._processes]

    def _divide(self, work: _SharedQuestions, batch_tokens: int | None, answered: int, report: ReportProgress) -> None:
        """Send the questions to all workers, and report progress until all have finished."""
        size = batch_tokens or min(worker.batch_tokens for worker in self._ready)
        layout = BatchLayout.combine(worker.layout for worker in self._ready)
        batches = plan_batches(work.questions, work.kind, size, layout)
        padding = compute_padding_share(batches, size, layout)
        del batches
        for rank, connection in enumerate(self._processes):
            with suppress(BrokenPipeError, ConnectionResetError):  # a dead worker is reported below
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
    """Return the next message of a worker, or raise the error that it sent."""
    try:
        message = connection.recv()
    except EOFError:
        workers[connection].join()
        code = workers[connection].exitcode
        raise ModelError(
            f"A worker process died (exit code {code}), possibly because memory ran out. Its answers are stored; run "
            "the same command again to continue."
        ) from None
    if isinstance(message, TiltmeterError):
        raise message
    if isinstance(message, _WorkerError):
        raise RuntimeError(f"{message.error} in a worker process:\n{message.details}")
    return message


@contextmanager
def _block_stop_signals() -> Iterator[None]:
    """Block Ctrl-C and SIGTERM within the context, so that a process started in it never receives them.

    A terminal or job scheduler sends them to all processes, but workers are ended by their parent. This process
    receives a blocked signal at the end of the context.
    """
    if sys.platform == "win32":
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # otherwise the first process starts it, which unblocks the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run_worker(load: Callable[[], BatchAnswerer], connection: Connection) -> None:
    with guard_output():
        _serve(load, connection)


def _serve(load: Callable[[], BatchAnswerer], connection: Connection) -> None:
    """Load the model and answer requests of the parent until it ends."""
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
    # An encoder-decoder divides batches again by these values, which must be equal on all devices.
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
