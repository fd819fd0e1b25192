"""Inference on several devices with one process per device; the answers are the same as on a single device."""

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
    """The message to all workers: the questions, and the path and fingerprint for storing the answers."""

    questions: Sequence[Question]
    kind: Kind
    fingerprint: str
    store: str
    journal: Journal
    names: Mapping[bytes, str] | None


@dataclass(frozen=True, slots=True)
class _WorkerReady:
    """The message that a worker sends when its model is loaded."""

    batch_tokens: int
    layout: BatchLayout
    disabled: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _WorkerError:
    """The message that a worker sends after an unexpected error."""

    error: str
    details: str


@dataclass(frozen=True, slots=True)
class _WorkerShare:
    """The settings of the batch plan, which are equal for all workers, and the index of this worker (`rank`)."""

    batch_tokens: int
    layout: BatchLayout
    rank: int
    workers: int

    def can_take_batch(self, batch: Batch) -> bool:
        """Return whether this worker answers a batch; the hash of a question decides, so that shares are similar."""
        return int.from_bytes(batch[0].questions[0]) % self.workers == self.rank


class DeviceWorkers:
    """Processes that answer questions on several devices; each process calls one function of `loads` to load its model.

    The method `close` or an error ends the processes. All workers compute the same batch plan and answer different
    batches, so the answers are the same as on a single device.
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
        """Return the answers to all questions as a dictionary; the keys are the digests of the questions.

        Processes are started only if at least one answer is not stored. For the arguments see `execution.answer_all`.
        """
        by_digest = {question.digest: question for question in questions}
        answers = store.get(fingerprint, by_digest)
        report(Progress(len(answers), len(by_digest)))
        if len(answers) < len(by_digest):
            store.reject_read_only(len(by_digest) - len(answers))
            work = _SharedQuestions(list(by_digest.values()), kind, fingerprint, store.path, store.journal, names)
            try:
                self._start_processes()
                self._distribute_questions(work, batch_tokens, len(answers), report)
            except BaseException:
                self.close()
                raise
            answers = store.get(fingerprint, by_digest)
        return answers

    @property
    def disabled(self) -> dict[str, str]:
        """The speed-ups and batch layouts that are not used on at least one device, mapped to the reasons."""
        return {name: reason for worker in self._ready for name, reason in worker.disabled.items()}

    def close(self) -> None:
        """Kill the worker processes, and wait until they have ended."""
        # All processes are killed before this process waits for their end, because a second Ctrl-C may interrupt the
        # waiting. Stored answers are not lost.
        for process in self._processes.values():
            process.kill()
        for connection, process in self._processes.items():
            process.join()
            connection.close()
        self._processes, self._ready = {}, []

    def _start_processes(self) -> None:
        if self._processes:
            return
        # Processes are not forked, because CUDA does not work in a forked process if the parent has initialised it.
        context = multiprocessing.get_context("spawn")
        for load in self._loads:
            ours, theirs = context.Pipe()
            # A daemon process does not prevent its parent from ending.
            process = context.Process(target=_run_worker, args=(load, theirs), daemon=True)
            with _block_stop_signals():
                process.start()
            theirs.close()
            self._processes[ours] = process
        self._ready = [_receive_message(connection, self._processes) for connection in self._processes]

    def _distribute_questions(
        self, work: _SharedQuestions, batch_tokens: int | None, answered: int, report: ReportProgress
    ) -> None:
        """Send the questions to all workers, and report progress until all workers have finished."""
        size = batch_tokens or min(worker.batch_tokens for worker in self._ready)
        layout = BatchLayout.combine(worker.layout for worker in self._ready)
        batches = plan_batches(work.questions, work.kind, size, layout)
        padding = compute_padding_share(batches, size, layout)
        del batches
        for rank, connection in enumerate(self._processes):
            with suppress(BrokenPipeError, ConnectionResetError):  # a worker that has died is reported below
                connection.send((work, _WorkerShare(size, layout, rank, len(self._processes))))
        busy = list(self._processes)
        while busy:
            for connection in (c for c in wait(busy) if isinstance(c, Connection)):
                message = _receive_message(connection, self._processes)
                if message is None:
                    busy.remove(connection)
                else:
                    answered += message
                    report(Progress(answered, len(work.questions), padding))


def _receive_message(connection: Connection, workers: Mapping[Connection, BaseProcess]) -> Any:
    """Return the next message of a worker; if the message is an error, raise it."""
    try:
        message = connection.recv()
    except EOFError:
        workers[connection].join()
        code = workers[connection].exitcode
        raise ModelError(
            f"A worker process died (exit code {code}), possibly because memory ran out. Finished answers are stored; "
            "run the same command again to continue."
        ) from None
    if isinstance(message, TiltmeterError):
        raise message
    if isinstance(message, _WorkerError):
        raise RuntimeError(f"{message.error} in a worker process:\n{message.details}")
    return message


@contextmanager
def _block_stop_signals() -> Iterator[None]:
    """Block Ctrl-C and SIGTERM within the context, so that a process that is started there never receives them.

    A terminal or job scheduler sends the signals to all processes, but only the parent should end the workers. The
    parent receives a blocked signal at the end of the context.
    """
    if sys.platform == "win32":
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # otherwise the first new process starts the resource tracker, which unblocks the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run_worker(load: Callable[[], BatchAnswerer], connection: Connection) -> None:
    with guard_output():
        _answer_requests(load, connection)


def _answer_requests(load: Callable[[], BatchAnswerer], connection: Connection) -> None:
    """Load the model, and answer the parent's requests until the parent ends."""
    try:
        model = load()
        connection.send(_WorkerReady(model.batch_tokens, model.layout, model.disabled))
        while True:
            work, share = connection.recv()
            _answer_share(model, work, share, connection)
            del work
            connection.send(None)
    except TiltmeterError as error:
        _send_message(connection, error)
    except (BrokenPipeError, EOFError, ConnectionResetError):
        pass  # the parent process has ended
    except Exception as error:
        _send_message(connection, _WorkerError(repr(error), traceback.format_exc()))


def _answer_share(model: BatchAnswerer, work: _SharedQuestions, share: _WorkerShare, connection: Connection) -> None:
    # An encoder-decoder uses these values to divide batches; the values must be equal on all devices.
    model.batch_tokens, model.layout = share.batch_tokens, share.layout
    batches = plan_batches(work.questions, work.kind, share.batch_tokens, share.layout)
    mine = [batch for batch in batches if share.can_take_batch(batch)]
    with AnswerStore(work.store, journal=work.journal) as store:
        answers = store.get(work.fingerprint, (question.digest for question in work.questions))
        for new in answer_batches(model, mine, answers, work.names):
            store.put(work.fingerprint, new)
            connection.send(len(new))


def _send_message(connection: Connection, message: object) -> None:
    with suppress(OSError):  # the parent process may have ended
        connection.send(message)
