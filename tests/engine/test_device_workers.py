"""Several devices: the same bytes as with one, and a clear error if a worker fails."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.engine.stopped_run import QUESTIONS
from tests.engine.workers import Telling, Worker
from tests.models.tiny import CAUSAL, MASKED, made
from tests.models.tiny_tokenizers import word_level, word_piece
from tests.support.messages import assert_mentions, raises_mentioning
from tests.support.patience import PATIENCE
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.batch_layout import BatchLayout
from tiltmeter.engine.batch_plan import plan_batches
from tiltmeter.engine.device_workers import DeviceWorkers, _WorkerShare
from tiltmeter.engine.execution import answer_all
from tiltmeter.errors import TiltmeterError
from tiltmeter.progress.progress import Progress
from tiltmeter.questions import Question, WantedQuantity
from tiltmeter.runs.evaluate import evaluate


@pytest.fixture
def _one_thread() -> Iterator[None]:
    """Workers divide the threads among them, and sums by another number of threads may differ in the last bit."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.usefixtures("_one_thread")
@pytest.mark.parametrize(("kind", "count"), [("causal", 2), ("masked", 3)])
def test_several_devices_write_the_bytes_of_one(
    kind: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    made(CAUSAL["gpt2"] if kind == "causal" else MASKED["bert"]).save_pretrained(folder)
    (word_level(bos_token="<s>") if kind == "causal" else word_piece()).save_pretrained(folder)
    written = []
    for devices in ([], ["cpu"] * count):
        monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / f"cache-{len(devices)}"))
        out = tmp_path / f"run-{len(devices)}"
        evaluate(str(folder), "starter:en", device="cpu", devices=devices, batch_tokens=64, out=out)
        written.append((out / "scores.parquet").read_bytes())
    assert written[0] == written[1]


def answer_on_devices(questions: Any, *, loads: Any, **options: Any) -> Any:
    with closing(DeviceWorkers(loads)) as workers:
        return workers.answer(questions, **options)


@pytest.mark.parametrize(("ending", "part"), [("dies", "exit code 9"), ("complains", "enough")])
def test_a_failing_worker_stops_the_run_and_answers_are_kept(ending: str, part: str, tmp_path: Path) -> None:
    def ask(*endings: str) -> dict[bytes, float]:
        loads = [partial(Worker, ending) for ending in endings]
        with AnswerStore(tmp_path / "a.sqlite") as store:
            found = answer_on_devices(QUESTIONS, kind="masked", fingerprint="f", loads=loads, store=store)
        return {digest: float(answer[0]) for digest, answer in found.items()}

    with raises_mentioning(TiltmeterError, part):
        ask("answers", ending)
    assert ask("answers", "answers") == {q.digest: -float(q.wanted[0][1]) for q in QUESTIONS}


@pytest.mark.parametrize("workers", [2, 3])
def test_every_batch_is_answered_by_one_worker_and_none_is_idle(workers: int) -> None:
    shares = [_WorkerShare(8, BatchLayout(), rank, workers) for rank in range(workers)]
    batches = plan_batches(QUESTIONS, "masked", 8, BatchLayout())
    taken = [[share.can_take_batch(batch) for share in shares] for batch in batches]
    assert all(sum(by) == 1 for by in taken)
    assert all(any(by[rank] for by in taken) for rank in range(workers))


@pytest.mark.parametrize(("other", "batch_tokens"), [((24, False, 7), None), ((40, True, 16), 30)])
def test_all_workers_use_the_plan_that_suits_all_of_them(
    other: tuple[int, bool, int], batch_tokens: int | None, tmp_path: Path
) -> None:
    asked = [Question((1, 2, i, 3), ((2, i), (3, i)), want=WantedQuantity.LOG_PROB_AND_TOP) for i in range(30)]
    reports: list[Progress] = []
    with AnswerStore(tmp_path / "a.sqlite") as store:
        found = answer_on_devices(
            asked,
            kind="causal",
            fingerprint="f",
            loads=[partial(Telling, 40, True, 16), partial(Telling, *other)],
            store=store,
            batch_tokens=batch_tokens,
            report=reports.append,
        )
        again = answer_on_devices(
            asked[:3], kind="causal", fingerprint="f", loads=[], store=store, report=reports.append
        )
    assert again.keys() == {q.digest for q in asked[:3]}
    assert reports.pop() == Progress(3, 3)
    alone: list[Progress] = []
    expected = answer_all(
        asked,
        kind="causal",
        fingerprint="f",
        load=lambda: Telling(*other),
        store=AnswerStore(":memory:"),
        batch_tokens=batch_tokens,
        report=alone.append,
    )
    assert {key: answer.tolist() for key, answer in found.items()} == {k: a.tolist() for k, a in expected.items()}
    assert reports[0] == Progress(0, 30)
    assert reports[-1] == alone[-1]
    assert len(reports) == len(alone)


def test_if_one_worker_cannot_be_started_all_are_stopped(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "a.sqlite") as store, pytest.raises((AttributeError, pickle.PicklingError)):
        answer_on_devices(
            QUESTIONS,
            kind="masked",
            fingerprint="f",
            loads=[partial(Worker, "answers"), lambda: Worker("answers")],
            store=store,
        )
    assert multiprocessing.active_children() == []


def test_an_unexpected_error_in_a_worker_has_a_traceback(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with (
        AnswerStore(tmp_path / "a.sqlite") as store,
        raises_mentioning(RuntimeError, "KeyError", "nobody expected this"),
    ):
        answer_on_devices(QUESTIONS, kind="masked", fingerprint="f", loads=[partial(Worker, "fails")] * 2, store=store)
    assert "Traceback" not in capfd.readouterr().err


def test_the_output_of_a_worker_is_escaped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with AnswerStore(tmp_path / "a.sqlite") as store:
        loads = [partial(Worker, "prints")]
        answer_on_devices(QUESTIONS[:1], kind="masked", fingerprint="f", loads=loads, store=store)
    assert capfd.readouterr().err == "⟨U+001B⟩[8mhidden\n"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "to_all"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_signal_ends_all_processes_and_keeps_answers(number: int, to_all: bool, tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to all processes; `kill` sends SIGTERM to one process."""
    command = [sys.executable, "-m", "tests.engine.stopped_run", str(tmp_path / "a.sqlite")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as run:
        assert run.stdout is not None
        assert [run.stdout.readline() for _ in range(2)] == ["SIGINT SIGTERM\n"] * 2
        (os.killpg if to_all else os.kill)(run.pid, number)
        # Workers have the same output: it ends when all of them have ended.
        _, output = run.communicate(timeout=PATIENCE)
    assert run.returncode == 128 + number
    assert_mentions(output, "Stopped", "same command")
    assert len(output.splitlines()) == 1
    with AnswerStore(tmp_path / "a.sqlite") as store:
        kept = len(store.get("f", [question.digest for question in QUESTIONS]))
    assert kept == 2 * 2  # a batch of two questions by each worker
