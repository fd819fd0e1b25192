"""Scoring as in a run of Tiltmeter: ask, answer, score, without stored answers."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from perf.outcome import Outcome
from perf.workloads import Workload
from tiltmeter.benchmarks.association import MeanTokenScorer
from tiltmeter.benchmarks.benchmark import Score, Trial
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execution import answer_all
from tiltmeter.engine.speedups import apply_process_speedups
from tiltmeter.forms import Item
from tiltmeter.models.checkpoint_model import CheckpointModel
from tiltmeter.progress.progress import Progress
from tiltmeter.questions import Answer, Kind, Question, WantedQuantity

Answers = Mapping[bytes, Answer]


def score_items(
    workload: Workload, items: Sequence[Item], model: CheckpointModel, batch_tokens: int | None = None
) -> Outcome:
    """Return all scores, computed from texts with an empty answer store; all parts are answered together."""
    outcome = Outcome(logs=True)
    with apply_process_speedups(model.without):
        asked = workload.ask(items, model)
        trials = [(part, trial) for part, portion in asked.items() for trial in portion.trials]
        questions = [question for _, trial in trials for question in trial.questions]
        (kind,) = {portion.kind for portion in asked.values()}
        answers = _answers(questions, kind, model, batch_tokens, outcome)
        scored = [
            (part, trial, trial.score([answers[question.digest] for question in trial.questions]))
            for part, trial in trials
        ]
    outcome.later = lambda: _fill_in(outcome, workload, scored, answers)
    return outcome


def _fill_in(
    outcome: Outcome, workload: Workload, scored: Iterable[tuple[str, Trial, list[Score]]], answers: Answers
) -> None:
    """Convert scores and their log-probabilities to the format of the comparison."""
    for part, trial, scores in scored:
        mine = [answers[question.digest] for question in trial.questions]
        keys = [workload.key(part, trial, score) for score in scores]
        for key, score in zip(keys, scores, strict=True):
            # If a candidate has several scores, the first is the one computed from its numbers.
            outcome.scores[key if key not in outcome.scores else f"{key}/{score.role}"] = score.score
        if isinstance(trial.score, MeanTokenScorer):
            for key, indices in zip(keys, trial.score.piece_indices, strict=True):
                outcome.numbers[key] = [mine[answer][index : index + 1] for answer, index in indices]
            continue
        share = len(mine) // workload.candidates
        for number, key in enumerate(keys[: workload.candidates]):
            own = slice(number * share, (number + 1) * share)
            outcome.numbers[key] = _log_probabilities(trial.questions[own], mine[own])


def _log_probabilities(questions: Iterable[Question], answers: Iterable[Answer]) -> list[Answer]:
    """Return the log-probabilities of the answers that the published way also has, without logits."""
    return [
        answer[: len(question.wanted)]
        for question, answer in zip(questions, answers, strict=True)
        if question.want is not WantedQuantity.LOGIT
    ]


def _answers(
    questions: Sequence[Question], kind: Kind, model: CheckpointModel, batch_tokens: int | None, outcome: Outcome
) -> Answers:
    """Return the answers to questions by digest."""

    def report(progress: Progress) -> None:
        outcome.padding = progress.padding

    with TemporaryDirectory() as folder, AnswerStore(Path(folder) / "answers.sqlite") as store:
        return answer_all(
            questions,
            kind=kind,
            fingerprint="not kept",
            load=lambda: model.get_answerer(kind),
            store=store,
            batch_tokens=batch_tokens,
            report=report,
        )
