"""`tiltmeter run` with two workers that answer a batch each and then wait: a command to be stopped.

python -m tests.engine.stopped_run STORE
"""

import signal
import sys
from contextlib import closing
from functools import partial
from typing import Any

from tests.engine.workers import Waiting
from tiltmeter.cli import main
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.device_workers import DeviceWorkers
from tiltmeter.questions import Question
from tiltmeter.runs import evaluate as evaluating

QUESTIONS = [Question((1, i, 2), ((1, i),)) for i in range(40)]


def _evaluate(*_arguments: Any, **_options: Any) -> None:
    with AnswerStore(sys.argv.pop()) as store, closing(DeviceWorkers([partial(Waiting)] * 2)) as workers:
        workers.answer(QUESTIONS, kind="masked", fingerprint="f", store=store)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started in the background ignores Ctrl-C
    evaluating.measure_models = _evaluate  # type: ignore[assignment]
    sys.argv = ["tiltmeter", "run", "m", "--on", "starter:en", sys.argv[1]]
    main()
