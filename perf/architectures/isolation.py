"""Run checks in separate processes, so that an error, crash or hang of one model does not stop the others."""

import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

Job = TypeVar("Job")
Found = TypeVar("Found")


@dataclass(frozen=True)
class Failure:
    """A job without a result: it raised an error, its process ended, or it took too long."""

    reason: str


@dataclass
class _Running(Generic[Job]):
    job: Job
    process: BaseProcess
    answer: Connection
    began: float


def run_isolated(
    work: Callable[[Job], Found], jobs: Sequence[Job], *, at_once: int, seconds: float
) -> Iterator[tuple[Job, Found | Failure]]:
    """Yield each job with its result as it finishes; processes are forked, so that modules are imported once."""
    context = multiprocessing.get_context("fork")
    waiting, running = list(reversed(jobs)), list[_Running[Job]]()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(_started(context, work, waiting.pop()))
            wait([one.answer for one in running], timeout=1)
            for one in list(running):
                found = _finished(one, seconds)
                if found is not None:
                    running.remove(one)
                    yield one.job, found[0]
    finally:
        for one in running:
            one.process.kill()


def _started(context: multiprocessing.context.ForkContext, work: Callable[[Job], Found], job: Job) -> _Running[Job]:
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(work, job, sending), daemon=True)
    process.start()
    sending.close()
    return _Running(job, process, receiving, time.monotonic())


def _work(work: Callable[[Job], Found], job: Job, sending: Connection) -> None:
    try:
        sending.send(work(job))
    except BaseException:
        sending.send(Failure(" ".join(traceback.format_exc(limit=-3).split())[-600:]))


def _finished(one: _Running[Job], seconds: float) -> tuple[Found | Failure] | None:
    """Return the result in a tuple; None while the process is running."""
    if one.answer.poll():
        try:
            found = one.answer.recv()
        except EOFError:
            one.process.join()
            found = Failure(f"its process ended with code {one.process.exitcode}")
    elif time.monotonic() - one.began > seconds:
        one.process.kill()
        found = Failure(f"took longer than {seconds:.0f} s")
    else:
        return None
    one.process.join()
    one.answer.close()
    return (found,)
