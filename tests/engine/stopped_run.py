"""`tiltmeter run` with two workers that answer a batch each and then wait: a command to be stopped.

python -m tests.engine.stopped_run STORE
"""

import signal
import sys
from functools import partial
from typing import Any

from tests.engine.workers import Waiting
from tiltmeter.cli import main
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.device_workers import answer_on_devices
from tiltmeter.questions import Question
from tiltmeter.runs import evaluate as evaluating

QUESTIONS = [Question((1, i, 2), ((1, i),)) for i in range(40)]


def _evaluate(*_arguments: Any, **_options: Any) -> None:
    with AnswerStore(sys.argv.pop()) as store:
        loads = [partial(Waiting)] * 2
        answer_on_devices(QUESTIONS, kind="masked", fingerprint="f", loads=loads, store=store)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started in the background ignores Ctrl-C
    evaluating.evaluate = _evaluate  # type: ignore[assignment]
    sys.argv = ["tiltmeter", "run", "m", "--on", "starter:en", sys.argv[1]]
    main()
