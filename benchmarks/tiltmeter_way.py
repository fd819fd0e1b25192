"""The way a run of Tiltmeter takes: ask, answer, score. Nothing comes from stored answers."""

from collections.abc import Callable, Sequence

from benchmarks.outcome import Outcome
from tiltmeter.benchmarks.asking import Asked
from tiltmeter.data.items import Item
from tiltmeter.garbage import uncollected
from tiltmeter.models.loading import Model
from tiltmeter.questions import Answer, Question
from tiltmeter.scoring.execute import Progress, answer_all
from tiltmeter.scoring.store import AnswerStore

Ask = Callable[[Sequence[Item], Model], Asked]


def score_items(ask: Ask, items: Sequence[Item], model: Model, batch_tokens: int | None = None) -> Outcome:
    """All scores, from text on, with a store of answers that begins empty."""
    outcome = Outcome(logs=True)
    with uncollected():
        asked = ask(items, model)
        questions = [question for trial in asked.trials for question in trial.questions]
        answers = iter(_answers(questions, asked, model, batch_tokens, outcome))
        for trial in asked.trials:
            mine = [next(answers) for _ in trial.questions]
            scores = trial.score(mine)
            for score in scores:  # where there are several of one candidate, the first is what they are made of
                outcome.scores.setdefault(score.candidate, score.score)
            outcome.numbers[scores[0].candidate] = mine
    return outcome


def _answers(
    questions: Sequence[Question], asked: Asked, model: Model, batch_tokens: int | None, outcome: Outcome
) -> list[Answer]:
    """The answer to each question, in order."""

    def report(progress: Progress) -> None:
        outcome.padding = progress.padding

    with AnswerStore(":memory:") as store:
        answers = answer_all(
            questions,
            kind=asked.kind,
            fingerprint="not kept",
            load=lambda: model.answerer(asked.kind),
            store=store,
            batch_tokens=batch_tokens,
            report=report,
        )
        return [answers[question.digest] for question in questions]
