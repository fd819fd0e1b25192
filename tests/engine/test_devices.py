"""Several devices: the same bytes as one, and a clear word when a worker fails."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.models.tiny import CAUSAL, MASKED, made
from tests.models.tiny_tokenizers import word_level, word_piece
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.devices import answer_on_devices
from tiltmeter.engine.rows import Asks, Batch
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.questions import Question
from tiltmeter.runs import evaluate


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["causal", "masked"])
def test_two_devices_write_the_bytes_of_one(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "model"
    made(CAUSAL["gpt2"] if kind == "causal" else MASKED["bert"]).save_pretrained(folder)
    (word_level(bos_token="<s>") if kind == "causal" else word_piece()).save_pretrained(folder)
    written = []
    for devices in ([], ["cpu", "cpu"], ["cpu", "cpu", "cpu"]):
        monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / f"cache-{len(devices)}"))
        out = tmp_path / f"run-{len(devices)}"
        evaluate(str(folder), "starter:en", devices=devices, batch_tokens=64, out=out)
        written.append((out / "scores.parquet").read_bytes())
    assert written[0] == written[1] == written[2]


class Worker:
    """A model in a process of its own that answers, dies or complains."""

    batch_tokens = 8
    batches_ahead = 0
    shares_prefixes = False
    pack = 0

    def __init__(self, ending: str) -> None:
        self._ending = ending

    def start(self, batch: Batch) -> Callable[[], NDArray[np.float32]]:
        if self._ending == "dies":
            os._exit(9)
        if self._ending == "complains":
            raise UsageError("This worker has had enough.")
        tokens = Asks.of(batch).tokens
        numbers = np.float32([-tokens, 0 * tokens])
        return lambda: numbers


QUESTIONS = [Question((1, i, 2), ((1, i),)) for i in range(40)]


@pytest.mark.parametrize(("ending", "error"), [("dies", r"exit code 9.*same command goes on"), ("complains", "enough")])
def test_a_worker_that_fails_stops_the_run_and_what_was_answered_stays(ending: str, error: str, tmp_path: Path) -> None:
    def ask(*endings: str) -> dict[bytes, float]:
        with AnswerStore(tmp_path / "a.sqlite") as store:
            found = answer_on_devices(
                QUESTIONS,
                kind="masked",
                fingerprint="f",
                loads=[partial(Worker, ending) for ending in endings],
                store=store,
            )
        return {digest: float(answer[0]) for digest, answer in found.items()}

    with pytest.raises((ModelError, UsageError), match=error):
        ask("answers", ending)
    assert ask("answers", "answers") == {q.digest: -float(q.wanted[0][1]) for q in QUESTIONS}
