"""Answer and score the trials of a benchmark without a run."""

from typing import Any

from tiltmeter.benchmarks.benchmark import PartTrials, Score
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execution import answer_all


def answered(asked: PartTrials, answerer: Any, **options: Any) -> list[tuple[str, list[Score]]]:
    """Return the scores of each trial with the id of its item."""
    answers = answer_all(
        [question for trial in asked.trials for question in trial.questions],
        kind=asked.kind,
        fingerprint="m",
        load=lambda: answerer,
        store=AnswerStore(":memory:"),
        **options,
    )
    return [
        (trial.item.id, list(trial.score([answers[question.digest] for question in trial.questions])))
        for trial in asked.trials
    ]
